// The byte ranges that one owner has locked in one file, by the rules of POSIX: a new lock replaces what it
// covers, parts are unlocked and converted, equal neighbours become one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

namespace braid::nfs4::state {

enum class LockMode : std::uint8_t {
  read,   // shared
  write,  // exclusive
};

// Both ends belong to it, so that the last byte of all (2^64 - 1) needs no special case.
struct ByteRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  [[nodiscard]] bool overlaps(const ByteRange& other) const {
    return first <= other.last && other.first <= last;
  }
  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

// The range of a LOCK, LOCKT or LOCKU. A length of all ones reaches to the end of the file, however long it
// becomes. Nothing (NFS4ERR_INVAL) for a length of zero and what ends above 2^64 - 1 (RFC 8881 18.10.3).
std::optional<ByteRange> range_of(std::uint64_t offset, std::uint64_t length);
// The other way round; what reaches 2^64 - 1 has a length of all ones.
std::uint64_t length_of(const ByteRange& range);

constexpr ByteRange whole_file{0, UINT64_MAX};

struct HeldRange {
  ByteRange range;
  LockMode mode = LockMode::read;
  friend bool operator==(const HeldRange&, const HeldRange&) = default;
};

constexpr bool modes_conflict(LockMode a, LockMode b) { return a == LockMode::write || b == LockMode::write; }

// Not thread-safe. Ranges do not overlap, and neighbours of one mode do not touch.
class RangeSet {
 public:
  // Adds at most two ranges to those there are.
  void lock(const ByteRange& range, LockMode mode);
  // Adds at most one.
  void unlock(const ByteRange& range);
  // Whether unlocking `range` would leave two of one.
  [[nodiscard]] bool splits(const ByteRange& range) const;
  // The first range held that another owner's lock of `range` in `mode` would conflict with.
  [[nodiscard]] std::optional<HeldRange> conflict(const ByteRange& range, LockMode mode) const;

  // From the first byte to the last; not of an empty set.
  [[nodiscard]] ByteRange hull() const { return {ranges_.begin()->first, ranges_.rbegin()->second.last}; }
  [[nodiscard]] std::size_t size() const { return ranges_.size(); }
  [[nodiscard]] bool empty() const { return ranges_.empty(); }
  template <class F>
  void each(F&& f) const {
    for (const auto& [first, rest] : ranges_) f(HeldRange{{first, rest.last}, rest.mode});
  }

 private:
  struct Rest {
    std::uint64_t last = 0;
    LockMode mode = LockMode::read;
  };
  using Map = std::map<std::uint64_t, Rest>;
  // The first range that ends at `offset` or behind it.
  [[nodiscard]] Map::const_iterator reaching(std::uint64_t offset) const;

  Map ranges_;
};

}  // namespace braid::nfs4::state
