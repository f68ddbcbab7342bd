// The two windowed gear hashes at one position (docs/hashing.md). Compiled for the host and for the card.
#pragma once

#include <cstdint>

#include "hashing/blake3_core.h"

namespace braid::hashing {

constexpr unsigned prefilter_window = 16;  // bytes that H16 sees
constexpr unsigned verify_window = 32;     // bytes that H32 sees

// A position is accepted if the bits of H16 in `prefilter` and those of H32 in `verify` are zero.
struct GearMask {
  std::uint16_t prefilter = 0;
  std::uint32_t verify = 0;
};

// One byte more; after 16 bytes (32) nothing of an earlier one is left.
BRAID_BOTH constexpr std::uint32_t gear_step(std::uint32_t hash, std::uint32_t entry) {
  return (hash << 1) + entry;
}

// H32 of the 32 bytes that end with `last`.
template <class Byte>
BRAID_BOTH std::uint32_t verify_hash(const std::uint32_t* g32, const Byte* last) {
  std::uint32_t hash = 0;
  for (unsigned i = verify_window; i-- > 0;)
    hash = gear_step(hash, g32[static_cast<unsigned char>(*(last - i))]);
  return hash;
}

}  // namespace braid::hashing
