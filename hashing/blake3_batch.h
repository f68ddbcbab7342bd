// BLAKE3 of many messages at once: the leaves and the inner nodes of different messages share vector
// registers, so that a batch of 4 KiB messages is as fast as one long one.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "hashing/blake3.h"
#include "hashing/blake3_core.h"
#include "hashing/digest.h"

namespace braid::hashing {

namespace blake3 {

constexpr std::size_t subtree_leaves_max = 1024;

// A message, or a complete subtree of one, of at most subtree_leaves_max leaves.
struct Subtree {
  base::BytesView data;          // valid until finish()
  std::uint64_t first_leaf = 0;  // index in the message
  bool is_root = false;          // it is the whole message
  Words* out = nullptr;
};

// Collects subtrees and works them off together. Belongs to one thread; keeps its memory (about 100 KiB) for
// the next batch.
class SubtreeHasher {
 public:
  SubtreeHasher(const Mode& mode, Simd simd);
  // May work off what was added before.
  void add(const Subtree& subtree);
  // All values are where they belong.
  void finish();

  [[nodiscard]] const Mode& mode() const { return mode_; }
  // Of the subtrees added from now on; none may be waiting.
  void set_mode(const Mode& mode) { mode_ = mode; }

 private:
  struct Range {
    std::size_t begin, count;  // in values_
    bool is_root;
    Words* out;
  };
  void add_leaves(const Subtree& subtree);
  void hash_leaves();
  void hash_level();

  Mode mode_;
  const Kernel& kernel_;
  std::vector<Words> values_;
  std::vector<Range> ranges_;
  std::vector<Lane> full_, partial_;                             // leaves; `last` of a partial one is unset
  std::vector<std::array<std::byte, block_bytes>> last_blocks_;  // of partial_, padded with zeros
};

}  // namespace blake3

// One id per message; any number of messages of any lengths. Belongs to one thread; keeps its memory.
class Blake3Batch {
 public:
  explicit Blake3Batch(Simd simd = best_simd()) : subtrees_(blake3::plain_mode(), simd) {}
  // ids.size() == messages.size().
  void hash(const blake3::Mode& mode, std::span<const base::BytesView> messages, std::span<Digest> ids);

 private:
  void hash_long(base::BytesView message, blake3::Words& out);

  blake3::SubtreeHasher subtrees_;
  std::vector<blake3::Words> roots_;
};

}  // namespace braid::hashing
