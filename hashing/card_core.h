// The work of a card, as functions of an index: what a warp of 32 threads of the card does, and what the host
// does in loops to test the same code. The steps of a batch, in order:
//
//   candidates  one index per group of 2048 positions: two bitmaps, loose and strict, and the first position
//               in each
//   select      one index per stream: cuts it, writes its chunk records and what there is to hash
//   hash_tile   one index per tile, 32 leaves of one chunk: the value of their subtree
//   finish      one index per chunk record: joins its tiles; id and flags
//
// No step waits for another index of its own; what it reads, earlier steps wrote. With md5_tree as algorithm
// the leaves are the larger ones of that tree, a tile has a value for each of them, and finish hashes these.
//
// The sliding window of hashing/sliding_window.h is a step beside these: slide, one index per 2048 positions.
#pragma once

#include <cstdint>

#include "hashing/blake3_core.h"

namespace braid::hashing::card {

constexpr std::uint32_t lanes = 32;                               // threads of a warp
constexpr std::uint32_t run_positions = 64;                       // of one word of a bitmap
constexpr std::uint32_t group_positions = lanes * run_positions;  // looked at by one warp
constexpr std::uint32_t no_head = 0xffff;
constexpr std::uint32_t stream_alignment = 64;  // in the input: no word has positions of two streams
constexpr std::uint32_t input_margin = 128;     // readable bytes before and behind the input
constexpr std::uint32_t tile_leaves = lanes;

enum Function : std::uint32_t { blake3_function, md5_tree_function };
constexpr std::uint32_t md5_leaf_bytes = 4096;
constexpr std::uint32_t md5_values_per_block = 4;

struct Tables {
  std::uint16_t g16[256];
  std::uint32_t g32[256];
};

enum StreamFlag : std::uint32_t {
  is_one_chunk = 1,  // not to be cut
  is_at_end = 2,     // the stream ends with these bytes
  has_no_ids = 4,
};

// A stream in the input, and the parts of the tables that belong to it.
struct Stream {
  std::uint64_t stream_offset;  // of its first byte, for aligned blocks
  std::uint32_t begin;          // in the input
  std::uint32_t bytes;
  std::uint32_t first_record, record_count;  // of its chunk records
  std::uint32_t first_tile;                  // of its tiles: as many as tiles_of() says
  std::uint32_t flags;
};

// In Record::flags of every chunk, the empty one too; not one of Chunk's.
constexpr std::uint32_t is_used = 0x80000000U;
// Behind Chunk's flags, the number of the batch: a record that an earlier batch has left is not taken for one
// of this.
constexpr std::uint32_t chunk_flags = 0xff;
constexpr std::uint32_t sequence_shift = 8;
constexpr std::uint32_t sequence_mask = 0x7fffffU;

// 48 bytes back to the host for each chunk.
struct alignas(16) Record {
  std::uint32_t begin;  // in the input
  std::uint32_t length;
  std::uint32_t flags;  // of Chunk, the batch's number, and is_used; 0: no chunk
  std::uint32_t stream;
  std::uint32_t id[8];
};
static_assert(sizeof(Record) == 48);

// Leaves of one chunk that follow each other.
struct alignas(16) Tile {
  std::uint32_t begin;  // in the input
  std::uint32_t bytes;
  std::uint32_t first;  // its first leaf in the chunk, a multiple of tile_leaves
  std::uint32_t total;  // leaves of the chunk; 0: an unused tile
};
// The value of a subtree, and whether some byte below is not zero. An odd number of words: 32 of them lie in
// different banks of a card's shared memory.
struct Node {
  std::uint32_t value[8];
  std::uint32_t not_zero;
};
// What a tile leaves behind: one value of BLAKE3, or one of MD5 for each leaf.
constexpr std::uint32_t value_words = 8;
constexpr std::uint32_t md5_value_words = 4;
constexpr std::uint32_t values_per_tile_max = md5_value_words * tile_leaves;  // words

// Everything that the steps of one batch share; all pointers are the card's.
struct Batch {
  const unsigned char* input;  // input_margin behind the start of its allocation
  const Tables* tables;
  const Stream* streams;
  std::uint64_t *loose, *strict;
  // Of each group the first loose position in it, and in the upper half the first strict one; no_head: none.
  std::uint32_t* heads;
  Record* records;
  Tile* tiles;
  std::uint32_t* values;      // of the tiles, tile_value_words() each
  std::uint32_t* not_zero;    // of the tiles
  std::uint32_t input_bytes;  // up to the end of the last stream
  std::uint32_t stream_count, record_count, tile_count;
  std::uint32_t chunk_min, chunk_avg, chunk_max;
  std::uint32_t prefilter, loose_verify, strict_verify;
  std::uint32_t function;    // Function
  std::uint32_t leaf_bytes;  // of its leaves
  std::uint32_t flags;       // of the mode of BLAKE3
  std::uint32_t sequence;    // of the batch, at most sequence_mask
  std::uint32_t key[8];
};

// The sliding window of the papers over the whole input. Bit i of word w of `marks`: the window that begins
// at byte 64 w + i ends a chunk.
struct Slide {
  const unsigned char* input;  // input_margin readable bytes behind it
  std::uint32_t bytes;
  std::uint32_t window, step;
  std::uint32_t mask;  // of the digest's first word
  std::uint64_t* marks;
};

BRAID_BOTH std::uint32_t words_of(std::uint32_t positions, std::uint32_t per_word) {
  return (positions + per_word - 1) / per_word;
}
BRAID_BOTH std::uint32_t least(std::uint32_t a, std::uint32_t b) { return a < b ? a : b; }
BRAID_BOTH std::uint32_t tile_value_words(std::uint32_t function) {
  return function == md5_tree_function ? values_per_tile_max : value_words;
}
// Enough for every way of cutting `bytes` bytes into `records` chunks: each has at most one tile that is not
// full.
BRAID_BOTH std::uint32_t tiles_of(std::uint32_t bytes, std::uint32_t records, std::uint32_t leaf_bytes) {
  return bytes / (tile_leaves * leaf_bytes) + records;
}

// Calls f(lane) for every thread of a warp; what they wrote is seen by all of them behind it.
template <class F>
BRAID_BOTH void each_lane(F f) {
#if defined(__CUDA_ARCH__)
  f(threadIdx.x % lanes);
  __syncwarp();
#else
  for (std::uint32_t lane = 0; lane < lanes; ++lane) f(lane);
#endif
}
// A bit for every thread of a warp: what f(lane) says.
template <class F>
BRAID_BOTH std::uint32_t ballot(F f) {
#if defined(__CUDA_ARCH__)
  return __ballot_sync(~0U, f(threadIdx.x % lanes));
#else
  std::uint32_t bits = 0;
  for (std::uint32_t lane = 0; lane < lanes; ++lane) bits |= f(lane) ? 1U << lane : 0U;
  return bits;
#endif
}

// The position of the lowest bit that is set; there is one.
BRAID_BOTH std::uint32_t lowest(std::uint64_t bits) {
#if defined(__CUDA_ARCH__)
  return static_cast<std::uint32_t>(__ffsll(static_cast<long long>(bits))) - 1;
#else
  return static_cast<std::uint32_t>(__builtin_ctzll(bits));
#endif
}
BRAID_BOTH std::uint32_t lowest(std::uint32_t bits) {
#if defined(__CUDA_ARCH__)
  return static_cast<std::uint32_t>(__ffs(static_cast<int>(bits))) - 1;
#else
  return static_cast<std::uint32_t>(__builtin_ctz(bits));
#endif
}

// Chunk number c of a stream has the tiles from (its offset) / (bytes of a tile) + c on: enough for its last
// one, which may not be full, too.
BRAID_BOTH std::uint32_t first_tile(const Batch& b, const Stream& s, std::uint32_t record,
                                    std::uint32_t offset) {
  return s.first_tile + offset / (tile_leaves * b.leaf_bytes) + (record - s.first_record);
}

}  // namespace braid::hashing::card
