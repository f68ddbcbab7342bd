// Words of a message from any address. Compiled for the host and for the card.
#pragma once

#include <cstdint>

#include "hashing/blake3_core.h"

#if !defined(__CUDA_ARCH__)
#include <cstring>
#endif

namespace braid::hashing {

// Four bytes, little-endian, at any address, of which the first `count` are meant: the others are anything.
// The card reads the two aligned words around them; the host reads nothing else.
BRAID_BOTH std::uint32_t load_word(const unsigned char* from, [[maybe_unused]] std::uint32_t count) {
#if defined(__CUDA_ARCH__)
  const auto address = reinterpret_cast<std::uintptr_t>(from);
  const auto* aligned = reinterpret_cast<const std::uint32_t*>(address & ~std::uintptr_t{3});
  return __funnelshift_r(aligned[0], aligned[1], static_cast<std::uint32_t>(address & 3) * 8);
#else
  std::uint32_t word = ~std::uint32_t{0};
  std::memcpy(&word, from, count < sizeof word ? count : sizeof word);
  return word;
#endif
}

// A block of 16 words of which `bytes` bytes are there, at most 64; the others are zero.
BRAID_BOTH void load_padded(const unsigned char* from, std::uint32_t bytes, std::uint32_t block[16]) {
  BRAID_UNROLL for (std::uint32_t i = 0; i < 16; ++i) {
    const std::uint32_t word = 4 * i < bytes ? load_word(from + 4 * i, bytes - 4 * i) : 0;
    block[i] = 4 * i + 4 <= bytes ? word : word & ((1U << (bytes % 4 * 8)) - 1);
  }
}

}  // namespace braid::hashing
