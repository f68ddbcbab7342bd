// The byte-range locks of one file by their owners, by the rules of POSIX: a new lock replaces what its owner
// has there, parts are unlocked and converted, equal neighbours become one. Locks of different owners are
// kept apart; whether they may be there together is for the caller to ask.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "vfs/lock_index.h"
#include "vfs/open_file.h"

namespace braid::vfs {

constexpr ByteRange whole_file{0, UINT64_MAX};

// Nothing for a range that is empty or ends beyond 2^64.
std::optional<ByteRange> bytes_of(const LockRange& range);
// The other way round; what reaches 2^64 - 1 has a length of all ones.
LockRange range_of(const ByteRange& range);

struct HeldRange {
  ByteRange range;
  LockType type = LockType::read;
  friend bool operator==(const HeldRange&, const HeldRange&) = default;
};

// Not thread-safe.
class LockTable {
 public:
  using Entry = LockIndex::Entry;

  // The owner has this type there from now on, whatever it had. Adds at most two ranges to those there are.
  void lock(LockOwnerId owner, const ByteRange& range, LockType type);
  // What the owner had there, and has no more. Adds at most one range.
  std::vector<HeldRange> unlock(LockOwnerId owner, const ByteRange& range);
  // Whether unlocking `range` would leave two ranges of one.
  [[nodiscard]] bool splits(LockOwnerId owner, const ByteRange& range) const;

  // Of the locks of others that forbid this one, the one that begins first; lives until the next change.
  [[nodiscard]] const Entry* conflict(LockOwnerId owner, const ByteRange& range, LockType type) const {
    return index_.conflict(owner, range, type);
  }
  // What the owner has of `range`.
  [[nodiscard]] std::vector<HeldRange> held(LockOwnerId owner, const ByteRange& range) const;
  // At most `count` of all that it has.
  [[nodiscard]] std::vector<HeldRange> held(LockOwnerId owner, std::size_t count) const;
  // As much of `range`, from its first byte on, as has at most `count` ranges of the owner; `count` is not 0.
  [[nodiscard]] ByteRange beginning(LockOwnerId owner, const ByteRange& range, std::size_t count) const;
  // The ranges of all owners in an order: the first one that is not before this byte of this owner. Nothing:
  // there is none.
  struct Owned {
    LockOwnerId owner;
    HeldRange held;
  };
  [[nodiscard]] std::optional<Owned> next_from(LockOwnerId owner, std::uint64_t first) const;
  // From its first byte to its last; of an owner that has some.
  [[nodiscard]] ByteRange hull(LockOwnerId owner) const;
  [[nodiscard]] std::size_t count(LockOwnerId owner) const;

  // Of all owners.
  [[nodiscard]] bool empty() const { return owners_.empty(); }
  [[nodiscard]] std::size_t size() const { return index_.size(); }

  // Walks through what was unlocked, for those parts of it that nobody has now.
  class Freed {
   public:
    explicit Freed(std::vector<HeldRange> unlocked) : ranges_(std::move(unlocked)) {}

   private:
    friend class LockTable;
    std::vector<HeldRange> ranges_;
    std::size_t at_ = 0;
    std::uint64_t from_ = 0;  // what lies before that is done
  };
  // The next part, which may contain bytes that nobody had. Nothing: that was all.
  [[nodiscard]] std::optional<ByteRange> next_free(Freed& freed) const;

  // How many ranges have been looked at since it was made.
  [[nodiscard]] std::uint64_t steps() const { return index_.steps() + steps_; }

 private:
  struct Rest {
    std::uint64_t last = 0;
    LockType type = LockType::read;
  };
  // By first byte; disjoint, and neighbours of one type are one.
  using Ranges = std::map<std::uint64_t, Rest>;
  // The first range that ends at `offset` or behind it.
  static Ranges::const_iterator reaching(const Ranges& ranges, std::uint64_t offset);
  [[nodiscard]] const Ranges* ranges_of(LockOwnerId owner) const;

  void add(LockOwnerId owner, Ranges& ranges, std::uint64_t first, const Rest& rest);
  Ranges::const_iterator take(LockOwnerId owner, Ranges& ranges, Ranges::const_iterator at);
  std::vector<HeldRange> cut(LockOwnerId owner, Ranges& ranges, const ByteRange& range);

  std::map<LockOwnerId, Ranges> owners_;  // those that have some
  LockIndex index_;
  std::uint64_t steps_ = 0;
};

}  // namespace braid::vfs
