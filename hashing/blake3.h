// BLAKE3 (O'Connor, Aumasson, Neves, Wilcox-O'Hearn, 2020): one message, any mode, any length of output.
// For many messages at once: hashing/blake3_batch.h.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "hashing/blake3_lanes.h"
#include "hashing/digest.h"

namespace braid::hashing {

namespace blake3 {

// What a hash starts from: the key words and the flags of its mode.
struct Mode {
  Words key;
  std::uint32_t flags = 0;
};
Mode plain_mode();
Mode keyed_mode(const Key& key);
// `context` is a constant of the program, unique to the purpose.
Mode derive_key_mode(std::string_view context);

// The chaining value of a complete subtree: `data` is 2^k leaves of 1024 bytes, k <= 10, of a longer message,
// and `first_leaf` the index of the first of them, a multiple of 2^k. For hashing a message in parts and for
// verifying a part of it.
Words subtree_value(const Mode& mode, base::BytesView data, std::uint64_t first_leaf,
                    Simd simd = best_simd());
// The node above two subtrees; with `is_root` its digest is that of the whole message.
Words parent_value(const Mode& mode, const Words& left, const Words& right, bool is_root);
Digest digest_of(const Words& value);

}  // namespace blake3

// Incremental: update() any number of times, then digest() or output(); those may be asked at any time and
// leave the state as it is. Belongs to one thread.
class Blake3 {
 public:
  explicit Blake3(const blake3::Mode& mode = blake3::plain_mode(), Simd simd = best_simd());

  void update(base::BytesView bytes);
  [[nodiscard]] Digest digest() const;
  // Bytes [offset, offset + to.size()) of the extendable output (paper, section 2.6).
  void output(std::uint64_t offset, base::MutableBytes to) const;

 private:
  struct Subtree {
    blake3::Words value;
    std::uint64_t leaves;
  };
  // The node whose output is the result: everything that its compression takes.
  struct Root {
    blake3::Words cv;
    std::uint32_t block[16];
    std::uint32_t bytes;
    std::uint32_t flags;
  };
  void push(blake3::Words value, std::uint64_t leaves);
  [[nodiscard]] Root root_node() const;

  blake3::Mode mode_;
  Simd simd_;
  std::vector<Subtree> done_;      // complete subtrees, from left to right, sizes falling
  std::uint64_t leaves_done_ = 0;  // in done_
  std::size_t held_ = 0;           // bytes in leaf_
  // The leaf that may be the last one: it is hashed only when a byte behind it is known.
  std::array<std::byte, 1024> leaf_;
};

// BLAKE3's key derivation: `to` from `material` for the purpose that `context` names.
void derive_key(std::string_view context, base::BytesView material, base::MutableBytes to);

}  // namespace braid::hashing
