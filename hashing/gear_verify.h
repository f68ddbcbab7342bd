// The second look at positions that the prefilter let through. Included by the scanners, which are compiled
// for different instruction sets; everything here is inlined.
#pragma once

#include "hashing/gear.h"

namespace braid::hashing::detail {

// Positions come in ascending order. Where they are dense, as in data made to hurt, the hash goes on from the
// position before, so that a position never costs more than a few bytes' steps.
class GearVerifier {
 public:
  [[gnu::always_inline]] GearVerifier(const std::uint32_t* g32, const std::byte* data, std::uint32_t mask)
      : g32_(g32), data_(data), mask_(mask) {}
  [[gnu::always_inline]] bool accepts(std::size_t position) {
    std::size_t from = position - verify_window;
    if (known_ && last_ > from)
      from = last_;
    else
      hash_ = 0;
    for (std::size_t i = from + 1; i <= position; ++i)
      hash_ = gear_step(hash_, g32_[static_cast<unsigned char>(data_[i])]);
    known_ = true;
    last_ = position;
    return (hash_ & mask_) == 0;
  }

 private:
  const std::uint32_t* g32_;
  const std::byte* data_;
  std::uint32_t mask_;
  std::uint32_t hash_ = 0;
  std::size_t last_ = 0;
  bool known_ = false;
};

}  // namespace braid::hashing::detail
