// MD5 (RFC 1321) of messages that fit one block, for the sliding window of hashing/sliding_window.h. Compiled
// for the host and for the card. Not for anything that must resist an attacker.
#pragma once

#include <cstdint>

#include "hashing/blake3_core.h"

namespace braid::hashing::md5 {

constexpr std::uint32_t one_block_max = 55;  // bytes beside the padding of section 3.1

// Section 3.4: the integer part of 2^32 |sin(i + 1)|.
BRAID_BOTH constexpr std::uint32_t sine(unsigned i) {
  constexpr std::uint32_t table[64] = {
      0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
      0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
      0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
      0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
      0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
      0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
      0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
      0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391};
  return table[i];
}

// Rotation of step i; each round of 16 steps repeats four amounts.
BRAID_BOTH constexpr unsigned rotation(unsigned i) {
  constexpr unsigned char table[16] = {7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21};
  return table[i / 16 * 4 + i % 4];
}

BRAID_BOTH constexpr unsigned word_index(unsigned i) {
  return (i < 16 ? i : i < 32 ? 5 * i + 1 : i < 48 ? 3 * i + 5 : 7 * i) % 16;
}

BRAID_BOTH std::uint32_t choose(unsigned i, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
  return i < 16 ? (b & c) | (~b & d) : i < 32 ? (d & b) | (~d & c) : i < 48 ? b ^ c ^ d : c ^ (b | ~d);
}

// The first word of the digest of `bytes` bytes, at most one_block_max.
BRAID_BOTH std::uint32_t first_word(const unsigned char* message, std::uint32_t bytes) {
  std::uint32_t block[16] = {};
  for (std::uint32_t i = 0; i < bytes; ++i)
    block[i / 4] |= static_cast<std::uint32_t>(message[i]) << (i % 4 * 8);
  block[bytes / 4] |= 0x80U << (bytes % 4 * 8);
  block[14] = bytes * 8;
  std::uint32_t a = 0x67452301, b = 0xefcdab89, c = 0x98badcfe, d = 0x10325476;
  BRAID_UNROLL for (unsigned i = 0; i < 64; ++i) {
    const std::uint32_t sum = a + choose(i, b, c, d) + sine(i) + block[word_index(i)];
    a = d;
    d = c;
    c = b;
    b += sum << rotation(i) | sum >> (32 - rotation(i));
  }
  return a + 0x67452301;
}

}  // namespace braid::hashing::md5
