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

// Lanes on their way to a kernel, few enough to stay in the first cache.
class LaneQueue {
 public:
  explicit LaneQueue(const Kernel& kernel) : kernel_(kernel) {}
  // A lane to be filled in place: building it elsewhere and copying it costs more than the rest of the work
  // on it.
  Lane& next(const LaneOptions& options) {
    if (count_ == lanes_.size()) flush(options);
    return lanes_[count_++];
  }
  // All lanes are done. The options are those of all next() since the last flush.
  void flush(const LaneOptions& options) {
    kernel_.run(options, lanes_.data(), count_);
    count_ = 0;
  }

 private:
  const Kernel& kernel_;
  std::array<Lane, 64> lanes_;
  std::size_t count_ = 0;
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
  [[nodiscard]] LaneOptions leaf_options() const { return {mode_.key, mode_.flags, chunk_start}; }
  void add_leaves(const Subtree& subtree);
  void add_partial(const Subtree& subtree, std::size_t index, std::uint32_t last_flags, Words* out);
  void hash_leaves();
  void hash_level();

  Mode mode_;
  const Kernel& kernel_;
  std::vector<Words> values_;
  std::vector<Range> ranges_;
  LaneQueue queue_;
  std::vector<Lane> partial_;                                    // leaves whose `last` is not set yet
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
