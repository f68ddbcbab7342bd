#include "store/live_set.h"

#include <algorithm>
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
  if (!insert(containers_[at.container], at.offset)) return false;
  ++chunks_;
  bytes_ += bytes;
  return true;
}

}  // namespace braid::store
