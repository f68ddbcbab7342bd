// Chunks by what they are: each is kept once, and what is handed out is what was put in.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "base/bytes.h"
#include "base/guarded.h"
#include "base/result.h"
#include "store/containers.h"
#include "store/index.h"
#include "store/keys.h"
#include "store/node.h"
#include "store/pins.h"

namespace braid::store {

// Verified chunks that were used last, by id. Thread-safe.
class ChunkCache {
 public:
  using Bytes = std::shared_ptr<const base::Bytes>;
  explicit ChunkCache(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  // Null: it is not there.
  Bytes find(const hashing::Digest& id);
  void put(const hashing::Digest& id, Bytes bytes);

 private:
  struct Kept {
    hashing::Digest id;
    Bytes bytes;
  };
  struct State {
    std::list<Kept> used{};  // the last one in front
    std::unordered_map<hashing::Digest, std::list<Kept>::iterator> by_id{};
    std::size_t bytes = 0;
  };
  const std::size_t bytes_max_;
  base::Guarded<State> state_;
};

struct ChunkCounts {
  std::uint64_t chunks_added = 0, bytes_added = 0;  // that were new
  std::uint64_t chunks_found = 0, bytes_found = 0;  // that were there
  std::uint64_t mismatches = 0;                     // places where something else was than was looked for
};

// Thread-safe. What it uses outlives it. `index` is null where nothing is put.
class ChunkStore {
 public:
  ChunkStore(Containers& containers, Index* index, const StoreKeys& keys, std::size_t cache_bytes)
      : containers_(containers), index_(index), keys_(keys), cache_(cache_bytes) {}

  // Keeps a chunk, which is not on the medium before the next sync() ends. One that is there already is
  // found, if its bytes are these, unless its place is known to be bad. `id`: what keys.id_of() says. Who
  // will refer to it holds pins().use() since before.
  base::Result<ChunkRef> put(ChunkKind kind, const hashing::Digest& id, base::BytesView bytes);
  base::Result<ChunkRef> put(ChunkKind kind, base::BytesView bytes);
  // The same in a container behind all others, though it is there already: for what moves.
  base::Result<ChunkRef> put_anew(ChunkKind kind, const hashing::Digest& id, base::BytesView bytes);
  base::Result<void> sync() { return containers_.sync(); }

  // The bytes, which are those that were put: else EIO, and a line in the log.
  base::Result<ChunkCache::Bytes> get(ChunkKind kind, const ChunkRef& chunk);

  // The same of a root, whose length is found with it.
  base::Result<ChunkCache::Bytes> get_root(const hashing::Digest& id, Location at);

  // Where READ may find a chunk: where its recipe says, and where the index does. Its bytes at one of these
  // places alone, past what is known of it; null: it is not there.
  std::array<std::optional<Location>, 2> places_of(const ChunkRef& chunk);
  ChunkCache::Bytes at_place(ChunkKind kind, const ChunkRef& chunk, Location at);
  // That the medium has something else there: it is never found again by who puts the same.
  void note_bad(Location at);
  [[nodiscard]] Pins& pins() { return pins_; }

  // What lies in the containers and the index does not know yet goes into it.
  base::Result<std::uint64_t> catch_up();
  [[nodiscard]] ChunkCounts counts() const;

 private:
  std::optional<ChunkRef> root_at(const hashing::Digest& id, Location at);
  base::Result<ChunkRef> append(ChunkKind kind, const hashing::Digest& id, base::BytesView bytes);
  bool is_there(ChunkKind kind, const ChunkRef& chunk, base::BytesView bytes);

  Containers& containers_;
  Index* const index_;
  const StoreKeys& keys_;
  ChunkCache cache_;
  Pins pins_;
  static constexpr std::size_t bad_max = 1U << 20U;
  base::Guarded<std::unordered_set<std::uint64_t>> bad_;  // locations
  // Whoever puts a chunk looks for it first: the same one is not put twice at a time.
  static constexpr std::size_t puts_at_once = 64;
  std::array<std::mutex, puts_at_once> putting_;
  std::atomic<std::uint64_t> chunks_added_{0}, bytes_added_{0}, chunks_found_{0}, bytes_found_{0},
      mismatches_{0};
};

}  // namespace braid::store
