#include "store/content/written_ranges.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace braid::store {

void WrittenRanges::begin() {
  const std::scoped_lock lock(mutex_);
  ranges_.clear();
  grain_ = grain_bytes_min;
  on_.store(true, std::memory_order_release);
}

void WrittenRanges::end() {
  const std::scoped_lock lock(mutex_);
  on_.store(false, std::memory_order_release);
  ranges_.clear();
}

void WrittenRanges::add(std::uint64_t begin, std::uint64_t end) {
  if (begin >= end) return;
  const std::scoped_lock lock(mutex_);
  put(begin, end);
  while (ranges_.size() > ranges_max) {
    grain_ *= 2;
    for (const auto& [from, to] : std::exchange(ranges_, {})) put(from, to);
  }
}

void WrittenRanges::put(std::uint64_t begin, std::uint64_t end) {
  constexpr std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();
  begin = begin / grain_ * grain_;
  end = end > largest - grain_ ? largest : (end + grain_ - 1) / grain_ * grain_;
  auto next = ranges_.upper_bound(begin);
  if (next != ranges_.begin() && std::prev(next)->second >= begin) {
    --next;
    begin = next->first;
  }
  while (next != ranges_.end() && next->first <= end) {
    end = std::max(end, next->second);
    next = ranges_.erase(next);
  }
  ranges_.emplace(begin, end);
}

std::vector<Extent> WrittenRanges::listed() const {
  std::vector<Extent> out;
  out.reserve(ranges_.size());
  for (const auto& [begin, end] : ranges_) out.push_back({begin, end});
  return out;
}

std::vector<Extent> WrittenRanges::all() const {
  const std::scoped_lock lock(mutex_);
  return listed();
}

std::vector<Extent> WrittenRanges::take() {
  const std::scoped_lock lock(mutex_);
  std::vector<Extent> out = listed();
  ranges_.clear();
  grain_ = grain_bytes_min;
  return out;
}

}  // namespace braid::store
