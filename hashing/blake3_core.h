// The compression function of BLAKE3 (O'Connor, Aumasson, Neves, Wilcox-O'Hearn, 2020, sections 2.2 to 2.5).
// Compiled for the host and, by nvcc, for the card: no library but the fixed-width integers.
#pragma once

#include <cstdint>

#if defined(__CUDACC__)
#define BRAID_BOTH __host__ __device__ __forceinline__
#define BRAID_UNROLL _Pragma("unroll")
#else
// Always inlined: these headers are included by files for different instruction sets, and no function of one
// may be called by another.
#define BRAID_BOTH [[gnu::always_inline]] inline
#define BRAID_UNROLL _Pragma("GCC unroll 64")
#endif

namespace braid::hashing::blake3 {

// Domain separation flags (table 3).
enum Flag : std::uint32_t {
  chunk_start = 1,
  chunk_end = 2,
  parent = 4,
  root = 8,
  keyed_hash = 16,
  derive_key_context = 32,
  derive_key_material = 64,
};

constexpr std::uint32_t block_bytes = 64;
constexpr std::uint32_t leaf_bytes = 1024;  // the paper calls a leaf a chunk; here chunks are what is stored
constexpr std::uint32_t leaf_blocks = leaf_bytes / block_bytes;

// The initial value of word i, that of SHA-256 (table 1).
BRAID_BOTH constexpr std::uint32_t initial_value(unsigned i) {
  return i == 0   ? 0x6a09e667U
         : i == 1 ? 0xbb67ae85U
         : i == 2 ? 0x3c6ef372U
         : i == 3 ? 0xa54ff53aU
         : i == 4 ? 0x510e527fU
         : i == 5 ? 0x9b05688cU
         : i == 6 ? 0x1f83d9abU
                  : 0x5be0cd19U;
}

BRAID_BOTH constexpr std::uint32_t rotate_right(std::uint32_t x, unsigned by) {
  return x >> by | x << (32 - by);
}

// The quarter round.
BRAID_BOTH void mix(std::uint32_t* v, unsigned a, unsigned b, unsigned c, unsigned d, std::uint32_t x,
                    std::uint32_t y) {
  v[a] = v[a] + v[b] + x;
  v[d] = rotate_right(v[d] ^ v[a], 16);
  v[c] = v[c] + v[d];
  v[b] = rotate_right(v[b] ^ v[c], 12);
  v[a] = v[a] + v[b] + y;
  v[d] = rotate_right(v[d] ^ v[a], 8);
  v[c] = v[c] + v[d];
  v[b] = rotate_right(v[b] ^ v[c], 7);
}

BRAID_BOTH void mix_all(std::uint32_t* v, const std::uint32_t* m) {
  mix(v, 0, 4, 8, 12, m[0], m[1]);
  mix(v, 1, 5, 9, 13, m[2], m[3]);
  mix(v, 2, 6, 10, 14, m[4], m[5]);
  mix(v, 3, 7, 11, 15, m[6], m[7]);
  mix(v, 0, 5, 10, 15, m[8], m[9]);
  mix(v, 1, 6, 11, 12, m[10], m[11]);
  mix(v, 2, 7, 8, 13, m[12], m[13]);
  mix(v, 3, 4, 9, 14, m[14], m[15]);
}

// The message permutation between two rounds (table 2); after unrolling it is only a renaming.
BRAID_BOTH void permute(std::uint32_t* m) {
  const std::uint32_t t[16] = {m[2], m[6],  m[3],  m[10], m[7], m[0],  m[4],  m[13],
                               m[1], m[11], m[12], m[5],  m[9], m[14], m[15], m[8]};
  BRAID_UNROLL for (unsigned i = 0; i < 16; ++i) m[i] = t[i];
}

// All 16 words of the output: the first 8 are the chaining value, all of them a block of extended output.
// `block` is used up.
BRAID_BOTH void compress(const std::uint32_t cv[8], std::uint32_t block[16], std::uint64_t counter,
                         std::uint32_t bytes, std::uint32_t flags, std::uint32_t out[16]) {
  std::uint32_t v[16];
  BRAID_UNROLL for (unsigned i = 0; i < 8; ++i) v[i] = cv[i];
  BRAID_UNROLL for (unsigned i = 0; i < 4; ++i) v[8 + i] = initial_value(i);
  v[12] = static_cast<std::uint32_t>(counter);
  v[13] = static_cast<std::uint32_t>(counter >> 32);
  v[14] = bytes;
  v[15] = flags;
  BRAID_UNROLL for (unsigned round = 0; round < 7; ++round) {
    mix_all(v, block);
    if (round < 6) permute(block);
  }
  BRAID_UNROLL for (unsigned i = 0; i < 8; ++i) {
    out[i] = v[i] ^ v[i + 8];
    out[i + 8] = v[i + 8] ^ cv[i];
  }
}

}  // namespace braid::hashing::blake3
