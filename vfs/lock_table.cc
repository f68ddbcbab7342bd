#include "vfs/lock_table.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

namespace braid::vfs {
namespace {

constexpr std::uint64_t offset_max = std::numeric_limits<std::uint64_t>::max();

}  // namespace

std::optional<ByteRange> bytes_of(const LockRange& range) {
  if (range.length == LockRange::to_end) return ByteRange{range.offset, offset_max};
  if (range.length == 0 || range.length - 1 > offset_max - range.offset) return std::nullopt;
  return ByteRange{range.offset, range.offset + (range.length - 1)};
}

LockRange range_of(const ByteRange& range) {
  if (range.last == offset_max) return {range.first, LockRange::to_end};
  return {range.first, range.last - range.first + 1};
}

LockTable::Ranges::const_iterator LockTable::reaching(const Ranges& ranges, std::uint64_t offset) {
  const auto it = ranges.upper_bound(offset);
  if (it == ranges.begin()) return it;
  const auto before = std::prev(it);
  return before->second.last >= offset ? before : it;
}

const LockTable::Ranges* LockTable::ranges_of(LockOwnerId owner) const {
  const auto found = owners_.find(owner);
  return found == owners_.end() ? nullptr : &found->second;
}

void LockTable::add(LockOwnerId owner, Ranges& ranges, std::uint64_t first, const Rest& rest) {
  ranges.emplace(first, rest);
  index_.insert({{first, rest.last}, rest.type, owner});
}

LockTable::Ranges::const_iterator LockTable::take(LockOwnerId owner, Ranges& ranges,
                                                  Ranges::const_iterator at) {
  ++steps_;
  index_.erase(owner, at->first);
  return ranges.erase(at);
}

std::vector<HeldRange> LockTable::cut(LockOwnerId owner, Ranges& ranges, const ByteRange& range) {
  std::vector<HeldRange> had;
  auto it = reaching(ranges, range.first);
  while (it != ranges.end() && it->first <= range.last) {
    const std::uint64_t first = it->first;
    const Rest rest = it->second;
    had.push_back({{std::max(first, range.first), std::min(rest.last, range.last)}, rest.type});
    it = take(owner, ranges, it);
    if (first < range.first) add(owner, ranges, first, {range.first - 1, rest.type});
    if (rest.last > range.last) {
      add(owner, ranges, range.last + 1, rest);
      break;
    }
  }
  return had;
}

void LockTable::lock(LockOwnerId owner, const ByteRange& range, LockType type) {
  Ranges& ranges = owners_[owner];
  cut(owner, ranges, range);
  ByteRange whole = range;
  Ranges::const_iterator next = ranges.lower_bound(range.first);
  if (next != ranges.begin()) {
    const auto before = std::prev(next);
    if (before->second.type == type && before->second.last + 1 == range.first) {
      whole.first = before->first;
      next = take(owner, ranges, before);
    }
  }
  if (next != ranges.end() && range.last != offset_max && next->first == range.last + 1 &&
      next->second.type == type) {
    whole.last = next->second.last;
    take(owner, ranges, next);
  }
  add(owner, ranges, whole.first, {whole.last, type});
}

std::vector<HeldRange> LockTable::unlock(LockOwnerId owner, const ByteRange& range) {
  const auto found = owners_.find(owner);
  if (found == owners_.end()) return {};
  std::vector<HeldRange> had = cut(owner, found->second, range);
  if (found->second.empty()) owners_.erase(found);
  return had;
}

bool LockTable::splits(LockOwnerId owner, const ByteRange& range) const {
  const Ranges* const ranges = ranges_of(owner);
  if (ranges == nullptr) return false;
  const auto it = reaching(*ranges, range.first);
  return it != ranges->end() && it->first < range.first && it->second.last > range.last;
}

std::vector<HeldRange> LockTable::held(LockOwnerId owner, const ByteRange& range) const {
  std::vector<HeldRange> out;
  const Ranges* const ranges = ranges_of(owner);
  if (ranges == nullptr) return out;
  for (auto it = reaching(*ranges, range.first); it != ranges->end() && it->first <= range.last; ++it)
    out.push_back(
        {{std::max(it->first, range.first), std::min(it->second.last, range.last)}, it->second.type});
  return out;
}

std::vector<HeldRange> LockTable::held(LockOwnerId owner, std::size_t count) const {
  std::vector<HeldRange> out;
  const Ranges* const ranges = ranges_of(owner);
  if (ranges == nullptr) return out;
  for (auto it = ranges->begin(); it != ranges->end() && out.size() < count; ++it)
    out.push_back({{it->first, it->second.last}, it->second.type});
  return out;
}

ByteRange LockTable::beginning(LockOwnerId owner, const ByteRange& range, std::size_t count) const {
  const Ranges* const ranges = ranges_of(owner);
  if (ranges == nullptr) return range;
  auto it = reaching(*ranges, range.first);
  for (; it != ranges->end() && it->first <= range.last; ++it, --count)
    if (count == 0) return {range.first, it->first - 1};
  return range;
}

std::optional<LockTable::Owned> LockTable::next_from(LockOwnerId owner, std::uint64_t first) const {
  for (auto at = owners_.lower_bound(owner); at != owners_.end(); ++at) {
    const auto found = at->second.lower_bound(at->first == owner ? first : 0);
    if (found != at->second.end())
      return Owned{at->first, {{found->first, found->second.last}, found->second.type}};
  }
  return std::nullopt;
}

ByteRange LockTable::hull(LockOwnerId owner) const {
  const Ranges& ranges = owners_.at(owner);
  return {ranges.begin()->first, ranges.rbegin()->second.last};
}

std::size_t LockTable::count(LockOwnerId owner) const {
  const Ranges* const ranges = ranges_of(owner);
  return ranges == nullptr ? 0 : ranges->size();
}

std::optional<ByteRange> LockTable::next_free(Freed& freed) const {
  while (freed.at_ < freed.ranges_.size()) {
    const ByteRange& range = freed.ranges_[freed.at_].range;
    if (range.last < freed.from_) {
      ++freed.at_;
      continue;
    }
    const std::uint64_t first = std::max(range.first, freed.from_);
    const std::uint64_t last = freed.ranges_.back().range.last;
    const Entry* const taken = index_.first_in({first, last});
    const std::uint64_t behind = taken == nullptr ? last : taken->range.last;
    const std::optional<ByteRange> free = taken == nullptr ? ByteRange{first, last}
                                          : taken->range.first > first
                                              ? std::optional(ByteRange{first, taken->range.first - 1})
                                              : std::nullopt;
    if (behind >= last)
      freed.at_ = freed.ranges_.size();
    else
      freed.from_ = behind + 1;
    if (free) return free;
  }
  return std::nullopt;
}

}  // namespace braid::vfs
