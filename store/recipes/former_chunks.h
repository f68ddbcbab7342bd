// What files were before: where a store looks for equal chunks that keeps no index of all (Similarity).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/guarded.h"
#include "store/chunks/chunk_store.h"
#include "store/medium/medium.h"
#include "store/recipes/sealed_file.h"

namespace braid::store {

// The chunks that a file had near the bytes of it that are cut. Not thread-safe. What it says may be gone: a
// chunk counts only where it is found.
class FormerChunks {
 public:
  // Of bytes that were put in before them, or taken out, so many at once are followed.
  static constexpr std::uint64_t reach_bytes = 8 * base::MiB;

  // In the recipe that the file has, and in the last one that it has lost. Both may be null.
  void look_in(std::shared_ptr<const SealedFile> now, std::shared_ptr<const SealedFile> lost);
  // Bytes [begin, end) of the file are cut. Nodes that cannot be read lead to nothing.
  void look_around(ChunkStore& chunks, std::uint64_t begin, std::uint64_t end);
  // Where a chunk lay there. It may be used until the next call.
  [[nodiscard]] ChunkStore::Hint hint() const;
  // The file has it at `offset` now: what follows it is looked for where it followed it before.
  void follow(const hashing::Digest& id, std::uint64_t offset);

 private:
  struct Version {
    std::shared_ptr<const SealedFile> file{};
    std::uint64_t shift = 0;  // how much further bytes lay there, modulo 2^64
  };
  struct Place {
    Location at{};
    std::size_t version = 0;   // of versions_
    std::uint64_t offset = 0;  // in it
    bool repeated = false;     // and elsewhere near it
  };
  void add(ChunkStore& chunks, std::size_t version, std::uint64_t begin, std::uint64_t end);

  std::array<Version, 2> versions_;
  std::unordered_map<hashing::Digest, Place> places_;
};

// The recipes that files had before they lost them: a program that writes a file anew cuts it to nothing
// first. In memory, and those of some files only. Thread-safe.
class FormerVersions {
 public:
  // Of the top nodes that are kept, and what keeps them.
  static constexpr std::size_t bytes_max = 16 * base::MiB;

  // The file has lost this one.
  void note(const KernelHandle& file, std::shared_ptr<const SealedFile> version);
  // The last one; null: it is not known.
  std::shared_ptr<const SealedFile> find(const KernelHandle& file);

 private:
  using Key = std::pair<std::uint16_t, std::vector<std::byte>>;
  struct Kept {
    std::map<Key, std::shared_ptr<const SealedFile>> versions{};
    std::deque<Key> order{};  // the oldest first, each once
    std::size_t bytes = 0;
  };
  static Key key_of(const KernelHandle& file);
  static std::size_t bytes_of(const SealedFile& version);
  base::Guarded<Kept> kept_;
};

}  // namespace braid::store
