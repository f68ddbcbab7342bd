// MD5 (RFC 1321), for the comparisons that hashing/sliding_window.h and hashing/tree_hash.h exist for.
// Compiled for the host and for the card. Not for anything that must resist an attacker.
#pragma once

#include <cstdint>

#include "hashing/blake3_core.h"
#include "hashing/load_core.h"

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

struct State {
  std::uint32_t word[4];
};
// Section 3.3.
BRAID_BOTH constexpr State initial_state() { return {{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476}}; }

// Section 3.4: one block of 16 words.
BRAID_BOTH void compress(State& state, const std::uint32_t block[16]) {
  std::uint32_t a = state.word[0], b = state.word[1], c = state.word[2], d = state.word[3];
  BRAID_UNROLL for (unsigned i = 0; i < 64; ++i) {
    const std::uint32_t sum = a + choose(i, b, c, d) + sine(i) + block[word_index(i)];
    a = d;
    d = c;
    c = b;
    b += sum << rotation(i) | sum >> (32 - rotation(i));
  }
  state.word[0] += a;
  state.word[1] += b;
  state.word[2] += c;
  state.word[3] += d;
}

// The end of a message of `total` bytes: its last `rest` bytes, fewer than 64, with the padding of sections
// 3.1 and 3.2. Sets bits of `not_zero` if one of them is not zero.
BRAID_BOTH void compress_end(State& state, const unsigned char* from, std::uint32_t rest, std::uint32_t total,
                             std::uint32_t& not_zero) {
  std::uint32_t block[16];
  load_padded(from, rest, block);
  BRAID_UNROLL for (unsigned w = 0; w < 16; ++w) not_zero |= block[w];
  BRAID_UNROLL for (std::uint32_t i = 0; i < 16; ++i) block[i] |=
      i == rest / 4 ? 0x80U << (rest % 4 * 8) : 0U;
  if (rest > one_block_max) {
    compress(state, block);
    BRAID_UNROLL for (std::uint32_t i = 0; i < 16; ++i) block[i] = 0;
  }
  block[14] = total << 3;
  block[15] = total >> 29;
  compress(state, block);
}

// The digest of a message in one piece; `not_zero` as above.
BRAID_BOTH State digest_of(const unsigned char* message, std::uint32_t bytes, std::uint32_t& not_zero) {
  State state = initial_state();
  std::uint32_t at = 0;
  for (; bytes - at >= blake3::block_bytes; at += blake3::block_bytes) {
    std::uint32_t block[16];
    load_padded(message + at, blake3::block_bytes, block);
    BRAID_UNROLL for (unsigned w = 0; w < 16; ++w) not_zero |= block[w];
    compress(state, block);
  }
  compress_end(state, message + at, bytes - at, bytes, not_zero);
  return state;
}

// The first word of the digest of `bytes` bytes, at most one_block_max.
BRAID_BOTH std::uint32_t first_word(const unsigned char* message, std::uint32_t bytes) {
  State state = initial_state();
  std::uint32_t not_zero = 0;
  compress_end(state, message, bytes, bytes, not_zero);
  return state.word[0];
}

}  // namespace braid::hashing::md5
