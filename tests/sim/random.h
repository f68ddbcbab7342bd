// Where every choice of a simulation comes from: one seed, and generators derived from it by name, so that
// what one part draws does not depend on how often another part does.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace braid::sim {

// splitmix64
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  // A generator of its own for part number `part`.
  [[nodiscard]] Random fork(std::uint64_t part) const {
    Random mixed(state_ ^ (part * 0x9e3779b97f4a7c15ULL));
    return Random(mixed.next());
  }

  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15ULL;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ULL;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebULL;
    return mixed ^ (mixed >> 31);
  }
  // In [0, bound).
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }
  // In [low, high].
  std::uint64_t between(std::uint64_t low, std::uint64_t high) { return low + below(high - low + 1); }
  bool percent(std::uint64_t chance) { return below(100) < chance; }
  base::Duration between(base::Duration low, base::Duration high) {
    return low + base::Duration(static_cast<base::Duration::rep>(
                     below(static_cast<std::uint64_t>((high - low).count()) + 1)));
  }

 private:
  std::uint64_t state_;
};

}  // namespace braid::sim
