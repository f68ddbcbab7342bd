#include "store/maintenance/live_set.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace braid::store {
namespace {

constexpr std::size_t places_min = 16;

std::size_t first_place(std::uint32_t offset, std::size_t places) {
  constexpr std::uint64_t spread = 0x9E3779B97F4A7C15U;
  return static_cast<std::size_t>(offset * spread >> 32U) & (places - 1);
}

}  // namespace

bool LiveSet::insert(Offsets& offsets, std::uint32_t offset) {
  std::vector<std::uint32_t>& places = offsets.places;
  if (offsets.used * 4 >= places.size() * 3) {
    const std::vector<std::uint32_t> before =
        std::exchange(places, std::vector<std::uint32_t>(std::max(places_min, places.size() * 2)));
    offsets.used = 0;
    for (const std::uint32_t one : before)
      if (one != 0) insert(offsets, one);
  }
  std::size_t place = first_place(offset, places.size());
  while (places[place] != 0 && places[place] != offset) place = (place + 1) & (places.size() - 1);
  if (places[place] == offset) return false;
  places[place] = offset;
  ++offsets.used;
  return true;
}

bool LiveSet::add(Location at, std::uint64_t bytes) {
  if (at.offset == 0) return true;
  Offsets& container = containers_[at.container];
  if (!insert(container, at.offset)) return false;
  container.bytes += bytes;
  ++chunks_;
  bytes_ += bytes;
  return true;
}

std::vector<std::uint32_t> LiveSet::offsets_of(std::uint32_t container) const {
  std::vector<std::uint32_t> out;
  const auto found = containers_.find(container);
  if (found == containers_.end()) return out;
  std::ranges::copy_if(found->second.places, std::back_inserter(out),
                       [](std::uint32_t offset) { return offset != 0; });
  std::ranges::sort(out);
  return out;
}

std::uint64_t LiveSet::bytes_of(std::uint32_t container) const {
  const auto found = containers_.find(container);
  return found == containers_.end() ? 0 : found->second.bytes;
}

}  // namespace braid::store
