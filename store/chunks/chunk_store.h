// Chunks by what they are: each is kept once, and what is handed out is what was put in.
#pragma once

#include <array>
#include <atomic>
#include <bitset>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

#include "base/bytes.h"
#include "base/guarded.h"
#include "base/result.h"
#include "store/chunks/chunk_cache.h"
#include "store/chunks/compression.h"
#include "store/chunks/containers.h"
#include "store/chunks/index.h"
#include "store/chunks/index_filler.h"
#include "store/chunks/keys.h"
#include "store/chunks/node.h"
#include "store/chunks/pins.h"
#include "store/chunks/similarity.h"

namespace braid::store {

struct ChunkCounts {
  std::uint64_t chunks_added = 0, bytes_added = 0;  // that were new; what they take in containers
  std::uint64_t chunks_found = 0, bytes_found = 0;  // that were there
  std::uint64_t mismatches = 0;                     // places where something else was than was looked for
};

// Thread-safe. What it uses outlives it. `index` is null where nothing is put.
class ChunkStore {
 public:
  // `cache_bytes`: of what was read, half of it nodes of recipes. `compression`: of data that is new.
  ChunkStore(Containers& containers, Index* index, const StoreKeys& keys, std::size_t cache_bytes,
             const CompressionOptions& compression = {}, Similarity similarity = Similarity::global)
      : containers_(containers),
        index_(index),
        filler_(containers, similarity == Similarity::global ? index : nullptr),
        keys_(keys),
        compression_(compression),
        similarity_(similarity),
        cache_(cache_bytes / 2),
        nodes_(cache_bytes / 2) {}

  // Keeps a chunk, which is not on the medium before the next sync() ends. One that is there already is
  // found, if its bytes are these, unless its place is known to be bad. `id`: what keys.id_of() says. Who
  // will refer to it holds pins().use() since before.
  base::Result<ChunkRef> put(ChunkKind kind, const hashing::Digest& id, base::BytesView bytes);
  base::Result<ChunkRef> put(ChunkKind kind, base::BytesView bytes);
  // Where a chunk of that name may lie. It need not.
  using Hint = std::function<std::optional<Location>(const hashing::Digest& id)>;
  // The same of several, which cost less together. After an error some of them may be there.
  base::Result<std::vector<ChunkRef>> put_all(ChunkKind kind, std::span<const Containers::NewChunk> chunks,
                                              const Hint& hint = {});
  // The same in containers behind all others, though they are there already: for what moves.
  base::Result<std::vector<ChunkRef>> put_anew(ChunkKind kind, std::span<const Containers::NewChunk> chunks);
  base::Result<void> sync() { return containers_.sync(); }

  using Bytes = std::shared_ptr<const base::Bytes>;
  // The bytes, which are those that were put: else EIO, and a line in the log.
  base::Result<Bytes> get(ChunkKind kind, const ChunkRef& chunk);
  // Bytes [from, from + to.size()) of a chunk of data; of one that has been verified these alone are read.
  base::Result<void> read_data(const ChunkRef& chunk, std::uint32_t from, base::MutableBytes to);

  // A node. EIO: its bytes cannot be had, or are none.
  using NodeRef = std::shared_ptr<const Node>;
  base::Result<NodeRef> node(const ChunkRef& chunk);
  // Null: its bytes cannot be had, which nobody is told.
  NodeRef node_if_there(const ChunkRef& chunk);
  // Null: it is not in memory.
  NodeRef node_in_memory(const ChunkRef& chunk) { return nodes_.find(chunk.id, chunk.at); }

  // The same of a root, whose length is found with it.
  base::Result<Bytes> get_root(const hashing::Digest& id, Location at);

  // Where READ may find a chunk: where its recipe says, and where the index does. Its bytes at one of these
  // places alone, past what is known of it; null: it is not there.
  std::array<std::optional<Location>, 2> places_of(const ChunkRef& chunk);
  Bytes at_place(ChunkKind kind, const ChunkRef& chunk, Location at);
  // That the medium has something else there: it is never found again by who puts the same.
  void note_bad(Location at);
  [[nodiscard]] Pins& pins() { return pins_; }
  [[nodiscard]] Similarity similarity() const { return similarity_; }
  [[nodiscard]] Containers& containers() { return containers_; }

  // Until it is done, equal chunks may be kept twice.
  [[nodiscard]] IndexFiller& index_filler() { return filler_; }
  [[nodiscard]] ChunkCounts counts() const;

 private:
  // What lies at a place, and whether it is compressed there.
  struct Found {
    Bytes bytes{};
    bool compressed = false;
    bool elsewhere = false;
    std::uint32_t distance = 0;  // GroupPlace::distance there
  };
  Found look_at(ChunkKind kind, const ChunkRef& chunk, Location at);
  std::optional<ChunkRef> root_at(const hashing::Digest& id, Location at);
  base::Result<std::vector<ChunkRef>> append(ChunkKind kind, std::span<const Containers::NewChunk> chunks);
  // `next`: where it may be, if there is a guess; then where the one that comes next may be.
  std::optional<ChunkRef> found(ChunkKind kind, const Containers::NewChunk& chunk,
                                std::optional<Location>& next, const Hint& hint);
  // Whether the index has chunks of this kind.
  [[nodiscard]] bool indexes(ChunkKind kind) const {
    return index_ != nullptr && (kind != ChunkKind::data || similarity_ == Similarity::global);
  }
  NodeRef keep_node(const ChunkRef& chunk, base::BytesView bytes);
  std::optional<ChunkRef> found_at(ChunkKind kind, const Containers::NewChunk& chunk, Location at,
                                   std::optional<Location>& next);
  // How many chunks have been added under each lock of `putting_`, and are in the index.
  using Turns = std::array<std::uint64_t, 32>;
  [[nodiscard]] Turns turns() const;
  // Looks again for those alone that somebody may have added since `looked`.
  base::Result<void> append_missing(ChunkKind kind, std::span<const Containers::NewChunk> chunks,
                                    const Turns& looked, const Hint& hint,
                                    std::vector<std::optional<ChunkRef>>& out);
  Found find_damaged(ChunkKind kind, const ChunkRef& chunk);
  // What those chunks are compressed to that are not in `known`.
  std::vector<base::Bytes> compress(ChunkKind kind, std::span<const Containers::NewChunk> chunks,
                                    std::span<const std::optional<ChunkRef>> known) const;

  Containers& containers_;
  Index* const index_;
  IndexFiller filler_;
  const StoreKeys& keys_;
  const CompressionOptions compression_;
  const Similarity similarity_;
  ChunkCache<base::Bytes> cache_;  // roots, data that is compressed, or not where its recipe says
  ChunkCache<Node> nodes_;
  Pins pins_;
  static constexpr std::size_t bad_max = 1U << 20U;
  base::Guarded<std::unordered_set<std::uint64_t>> bad_;  // locations
  // Whoever puts a chunk looks for it first: the same one is not put twice at a time.
  static constexpr std::size_t puts_at_once = std::tuple_size_v<Turns>;
  static std::size_t turn_of(const hashing::Digest& id) {
    return std::hash<hashing::Digest>{}(id) % puts_at_once;
  }
  void note_added(const hashing::Digest& id) { added_[turn_of(id)].fetch_add(1, std::memory_order_release); }
  using Locks = std::vector<std::unique_lock<std::mutex>>;
  Locks locks_of(const std::bitset<puts_at_once>& wanted);
  std::mutex& putting(const hashing::Digest& id) { return putting_[turn_of(id)]; }
  std::array<std::mutex, puts_at_once> putting_;
  std::array<std::atomic<std::uint64_t>, puts_at_once> added_{};
  std::atomic<std::uint64_t> chunks_added_{0}, bytes_added_{0}, chunks_found_{0}, bytes_found_{0},
      mismatches_{0};
};

}  // namespace braid::store
