#include "vfs/posix/lock_table.h"

#include <algorithm>
#include <limits>

namespace braid::vfs::posix {
namespace {

constexpr std::uint64_t end_of_everything = std::numeric_limits<std::uint64_t>::max();

}  // namespace

std::optional<Span> span_of(const LockRange& range) {
  if (range.length == LockRange::to_end) return Span{range.offset, end_of_everything};
  if (range.length == 0 || range.length - 1 > end_of_everything - range.offset) return std::nullopt;
  return Span{range.offset, range.offset + (range.length - 1)};
}

LockRange range_of(const Span& span) {
  if (span.last == end_of_everything) return {span.first, LockRange::to_end};
  return {span.first, span.last - span.first + 1};
}

LockTable::Spans::const_iterator LockTable::first_overlap(const Spans& spans, const Span& span) {
  auto at = spans.upper_bound(span.first);
  if (at != spans.begin())
    if (const auto before = std::prev(at); before->second.last >= span.first) return before;
  if (at != spans.end() && at->first > span.last) return spans.end();
  return at;
}

std::optional<LockConflict> LockTable::conflict(LockOwnerId owner, const Span& span, LockType type) const {
  for (const auto& [other, spans] : owners_) {
    if (other == owner) continue;
    for (auto at = first_overlap(spans, span); at != spans.end() && at->first <= span.last; ++at)
      if (type == LockType::write || at->second.type == LockType::write)
        return LockConflict{at->second.type, range_of({at->first, at->second.last}), other};
  }
  return std::nullopt;
}

void LockTable::cut(Spans& spans, const Span& span) {
  auto at = spans.upper_bound(span.first);
  if (at != spans.begin()) --at;
  while (at != spans.end() && at->first <= span.last) {
    const Span held{at->first, at->second.last};
    const LockType type = at->second.type;
    if (held.last < span.first) {
      ++at;
      continue;
    }
    at = spans.erase(at);
    if (held.first < span.first) spans.emplace(held.first, Held{span.first - 1, type});
    if (held.last > span.last) spans.emplace(span.last + 1, Held{held.last, type});
  }
}

void LockTable::set(LockOwnerId owner, const Span& span, LockType type) {
  Spans& spans = owners_[owner];
  cut(spans, span);
  Span joined = span;
  auto after = spans.lower_bound(span.first);
  if (after != spans.end() && span.last != end_of_everything && after->first == span.last + 1 &&
      after->second.type == type) {
    joined.last = after->second.last;
    after = spans.erase(after);
  }
  if (after != spans.begin())
    if (const auto before = std::prev(after);
        before->second.last + 1 == span.first && before->second.type == type) {
      joined.first = before->first;
      spans.erase(before);
    }
  spans.emplace(joined.first, Held{joined.last, type});
}

void LockTable::clear(LockOwnerId owner, const Span& span) {
  const auto found = owners_.find(owner);
  if (found == owners_.end()) return;
  cut(found->second, span);
  if (found->second.empty()) owners_.erase(found);
}

std::vector<Span> LockTable::free_parts(const Span& span) const {
  std::vector<Span> taken;
  for (const auto& [owner, spans] : owners_)
    for (auto at = first_overlap(spans, span); at != spans.end() && at->first <= span.last; ++at)
      taken.push_back({at->first, at->second.last});
  std::ranges::sort(taken, {}, &Span::first);
  std::vector<Span> out;
  std::uint64_t next = span.first;
  for (const Span& part : taken) {
    if (part.first > next) out.push_back({next, part.first - 1});
    if (part.last >= span.last) return out;
    next = std::max(next, part.last + 1);
  }
  out.push_back({next, span.last});
  return out;
}

void LockTable::for_each(const std::function<void(const Span&, LockType)>& visit) const {
  for (const auto& [owner, spans] : owners_)
    for (const auto& [first, held] : spans) visit({first, held.last}, held.type);
}

}  // namespace braid::vfs::posix
