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

// As many bytes as `words` has, from an address that is a multiple of 16.
template <std::uint32_t N>
BRAID_BOTH void load_aligned(const unsigned char* from, std::uint32_t (&words)[N]) {
#if defined(__CUDA_ARCH__)
  const auto* quads = reinterpret_cast<const uint4*>(from);
  BRAID_UNROLL for (std::uint32_t i = 0; i < N / 4; ++i) {
    const uint4 quad = quads[i];
    words[4 * i] = quad.x;
    words[4 * i + 1] = quad.y;
    words[4 * i + 2] = quad.z;
    words[4 * i + 3] = quad.w;
  }
#else
  std::memcpy(words, from, sizeof words);
#endif
}

// The blocks of a message at any address, one after the other, the last one filled up with zeros. The card
// reads whole quads of words, of the next block while the one before is hashed; up to 79 bytes around the
// message are read. The host reads nothing else.
class BlockReader {
 public:
  static constexpr std::uint32_t block_bytes = 64;

  BRAID_BOTH BlockReader(const unsigned char* from, std::uint32_t bytes) : at_(from), left_(bytes) {
#if defined(__CUDA_ARCH__)
    const auto address = reinterpret_cast<std::uintptr_t>(from);
    at_ = reinterpret_cast<const unsigned char*>(address & ~std::uintptr_t{15});
    word_ = static_cast<std::uint32_t>(address / 4 % 4);
    shift_ = static_cast<std::uint32_t>(address % 4 * 8);
    std::uint32_t first[4];
    load_aligned(at_, first);
    BRAID_UNROLL for (unsigned i = 0; i < 4; ++i) ahead_[16 + i] = first[i];
    load_ahead();
#endif
  }
  // Words of the next block; the number of bytes that are in it.
  BRAID_BOTH std::uint32_t next(std::uint32_t block[16]) {
    const std::uint32_t bytes = left_ < block_bytes ? left_ : block_bytes;
    left_ -= bytes;
#if defined(__CUDA_ARCH__)
    // It is the same for all threads of a warp, whose messages follow each other.
    switch (word_) {
      case 0:
        take<0>(block);
        break;
      case 1:
        take<1>(block);
        break;
      case 2:
        take<2>(block);
        break;
      default:
        take<3>(block);
        break;
    }
    if (bytes < block_bytes)
      BRAID_UNROLL for (std::uint32_t i = 0; i < 16; ++i) if (4 * i + 4 > bytes) block[i] &=
          4 * i >= bytes ? 0U : (1U << bytes % 4 * 8) - 1;
    if (left_ > 0) load_ahead();
#else
    load_padded(at_, bytes, block);
    at_ += bytes;
#endif
    return bytes;
  }

 private:
#if defined(__CUDA_ARCH__)
  // The quad that has the block's first byte is there already, as the last one of the block before.
  BRAID_BOTH void load_ahead() {
    BRAID_UNROLL for (unsigned i = 0; i < 4; ++i) ahead_[i] = ahead_[16 + i];
    std::uint32_t behind[16];
    load_aligned(at_ + 16, behind);
    BRAID_UNROLL for (unsigned i = 0; i < 16; ++i) ahead_[4 + i] = behind[i];
    at_ += block_bytes;
  }
  template <unsigned Word>
  BRAID_BOTH void take(std::uint32_t block[16]) {
    BRAID_UNROLL for (unsigned i = 0; i < 16; ++i) block[i] =
        __funnelshift_r(ahead_[i + Word], ahead_[i + Word + 1], shift_);
  }
  std::uint32_t ahead_[20];
  std::uint32_t word_, shift_;
#endif
  const unsigned char* at_;
  std::uint32_t left_;
};

}  // namespace braid::hashing
