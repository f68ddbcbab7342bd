// The byte ranges that are locked in one file, by whomever, so that who is in the way of a lock is found by
// looking at some of them.
//
// An interval tree (Cormen et al., "Introduction to Algorithms", 14.3): a balanced tree by first byte, each
// subtree of which knows how far its ranges reach. Owners are not in their own way, so a subtree knows that
// of two different owners: of the one whose ranges reach farthest, and of the farthest among all others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "vfs/open_file.h"

namespace braid::vfs {

// Both ends belong to it, so that the last byte of all (2^64 - 1) needs no special case.
struct ByteRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  [[nodiscard]] bool overlaps(const ByteRange& other) const {
    return first <= other.last && other.first <= last;
  }
  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

// Locks of different owners.
constexpr bool types_conflict(LockType a, LockType b) { return a == LockType::write || b == LockType::write; }

// Not thread-safe.
class LockIndex {
 public:
  struct Entry {
    ByteRange range;
    LockType type = LockType::read;
    LockOwnerId owner;
  };

  LockIndex();
  ~LockIndex();
  LockIndex(const LockIndex&) = delete;
  LockIndex& operator=(const LockIndex&) = delete;

  // The owner has no range there yet that begins with the same byte.
  void insert(const Entry& entry);
  // Its range that begins with this byte, which there is.
  void erase(LockOwnerId owner, std::uint64_t first);
  // Of the ranges of others that a lock of `range` would conflict with, the one that begins first. Null:
  // there is none. The result lives until the next change.
  [[nodiscard]] const Entry* conflict(LockOwnerId owner, const ByteRange& range, LockType type) const;
  // The range that begins first of all that share bytes with `range`.
  [[nodiscard]] const Entry* first_in(const ByteRange& range) const {
    return conflict(LockOwnerId{}, range, LockType::write);
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  // How many entries have been looked at since it was made.
  [[nodiscard]] std::uint64_t steps() const { return steps_; }

 private:
  struct Node;
  using Tree = std::unique_ptr<Node>;

  void insert_into(Tree& tree, const Entry& entry);
  void erase_from(Tree& tree, LockOwnerId owner, std::uint64_t first);
  // The first one of the tree leaves it.
  Tree take_first(Tree& tree);
  void balance(Tree& tree);
  static void rotate_left(Tree& tree);
  static void rotate_right(Tree& tree);

  Tree root_;
  std::size_t size_ = 0;
  mutable std::uint64_t steps_ = 0;
};

}  // namespace braid::vfs
