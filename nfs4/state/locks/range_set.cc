#include "nfs4/state/locks/range_set.h"

#include <iterator>
#include <limits>

#include "base/arith.h"

namespace braid::nfs4::state {

namespace {
constexpr std::uint64_t offset_max = std::numeric_limits<std::uint64_t>::max();
}  // namespace

std::optional<ByteRange> range_of(std::uint64_t offset, std::uint64_t length) {
  if (length == 0) return std::nullopt;
  if (length == offset_max) return ByteRange{offset, offset_max};
  const auto last = base::add(offset, length - 1);
  if (!last) return std::nullopt;
  return ByteRange{offset, *last};
}

std::uint64_t length_of(const ByteRange& range) {
  return range.last == offset_max ? offset_max : range.last - range.first + 1;
}

RangeSet::Map::const_iterator RangeSet::reaching(std::uint64_t offset) const {
  auto it = ranges_.upper_bound(offset);
  if (it == ranges_.begin()) return it;
  const auto before = std::prev(it);
  return before->second.last >= offset ? before : it;
}

bool RangeSet::splits(const ByteRange& range) const {
  const auto it = reaching(range.first);
  return it != ranges_.end() && it->first < range.first && it->second.last > range.last;
}

void RangeSet::unlock(const ByteRange& range) {
  auto it = reaching(range.first);
  while (it != ranges_.end() && it->first <= range.last) {
    const std::uint64_t first = it->first;
    const Rest rest = it->second;
    it = ranges_.erase(it);
    if (first < range.first) ranges_.emplace(first, Rest{range.first - 1, rest.mode});
    if (rest.last > range.last) {
      ranges_.emplace(range.last + 1, rest);
      return;
    }
  }
}

void RangeSet::lock(const ByteRange& range, LockMode mode) {
  unlock(range);
  ByteRange whole = range;
  auto next = ranges_.lower_bound(range.first);
  if (next != ranges_.begin()) {
    const auto before = std::prev(next);
    if (before->second.mode == mode && before->second.last + 1 == range.first) {
      whole.first = before->first;
      ranges_.erase(before);
    }
  }
  if (next != ranges_.end() && range.last != offset_max && next->first == range.last + 1 &&
      next->second.mode == mode) {
    whole.last = next->second.last;
    ranges_.erase(next);
  }
  ranges_.emplace(whole.first, Rest{whole.last, mode});
}

std::optional<HeldRange> RangeSet::conflict(const ByteRange& range, LockMode mode) const {
  for (auto it = reaching(range.first); it != ranges_.end() && it->first <= range.last; ++it)
    if (modes_conflict(mode, it->second.mode))
      return HeldRange{{it->first, it->second.last}, it->second.mode};
  return std::nullopt;
}

}  // namespace braid::nfs4::state
