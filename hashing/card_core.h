// The work of a card, as functions of an index: what a thread of the card does, and what the host does in a
// loop to test the same code. The steps of a batch, in order:
//
//   candidates  one index per 64 positions: two bitmaps, loose and strict
//   summarise   one index per 4096 positions: which words of the bitmaps are not zero
//   select      one index per stream: cuts it, writes its chunk records
//   describe    one index per chunk record: writes the descriptors of its leaves
//   hash_leaf   one index per leaf slot
//   join        one index per leaf slot, once per level of the highest tree
//   finish      one index per chunk record: id and flags
//
// No step waits for another index of its own; what it reads, earlier steps wrote.
#pragma once

#include <cstdint>

#include "hashing/blake3_core.h"
#include "hashing/gear_core.h"

#if !defined(__CUDA_ARCH__)
#include <cstring>
#endif

namespace braid::hashing::card {

constexpr std::uint32_t run_positions = 64;                      // of one word of a bitmap
constexpr std::uint32_t summary_positions = 64 * run_positions;  // of one word of a summary
constexpr std::uint32_t stream_alignment = 64;  // in the input: no word has positions of two streams
constexpr std::uint32_t input_margin = 64;      // readable bytes before and behind the input

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
  std::uint32_t first_record;  // of its chunk records
  std::uint32_t first_leaf;    // of its leaf slots
  std::uint32_t flags;
  std::uint32_t unused;
};

// In Record::flags of every chunk, the empty one too; not one of Chunk's.
constexpr std::uint32_t is_used = 0x80000000U;

// 48 bytes back to the host for each chunk.
struct Record {
  std::uint32_t begin;  // in the input
  std::uint32_t length;
  std::uint32_t flags;  // of Chunk, and is_used; 0: no chunk
  std::uint32_t stream;
  std::uint32_t id[8];
};
static_assert(sizeof(Record) == 48);

struct Leaf {
  std::uint32_t begin;  // in the input
  std::uint32_t bytes;  // 0..1024
  std::uint32_t index;  // in its chunk
  std::uint32_t total;  // leaves of its chunk; 0: an unused slot
};
struct Node {
  std::uint32_t value[8];
  std::uint32_t not_zero;  // some byte below is not zero
  std::uint32_t unused[7];
};

// Everything that the steps of one batch share; all pointers are the card's.
struct Batch {
  const unsigned char* input;  // input_margin behind the start of its allocation
  const Tables* tables;
  const Stream* streams;
  std::uint64_t *loose, *strict, *loose_summary, *strict_summary;
  Record* records;
  Leaf* leaves;
  Node* nodes;
  std::uint32_t input_bytes;  // up to the end of the last stream
  std::uint32_t stream_count, record_count, leaf_count;
  std::uint32_t chunk_min, chunk_avg, chunk_max;
  std::uint32_t prefilter, loose_verify, strict_verify;
  std::uint32_t flags;  // of the mode of BLAKE3
  std::uint32_t levels;
  std::uint32_t key[8];
};

BRAID_BOTH std::uint32_t words_of(std::uint32_t positions, std::uint32_t per_word) {
  return (positions + per_word - 1) / per_word;
}

// The position of the lowest bit that is set; there is one.
BRAID_BOTH std::uint32_t lowest(std::uint64_t bits) {
#if defined(__CUDA_ARCH__)
  return static_cast<std::uint32_t>(__ffsll(static_cast<long long>(bits))) - 1;
#else
  return static_cast<std::uint32_t>(__builtin_ctzll(bits));
#endif
}

// Four bytes, little-endian, at any address. The card reads two aligned words around them.
BRAID_BOTH std::uint32_t load_word(const unsigned char* from) {
#if defined(__CUDA_ARCH__)
  const auto address = reinterpret_cast<std::uintptr_t>(from);
  const auto* aligned = reinterpret_cast<const std::uint32_t*>(address & ~std::uintptr_t{3});
  return __funnelshift_r(aligned[0], aligned[1], static_cast<std::uint32_t>(address & 3) * 8);
#else
  std::uint32_t word;
  std::memcpy(&word, from, sizeof word);
  return word;
#endif
}

BRAID_BOTH void candidates(const Batch& b, std::uint32_t run) {
  const unsigned char* first = b.input + run * run_positions;
  std::uint32_t hash = 0;
  for (unsigned i = prefilter_window - 1; i > 0; --i) hash = gear_step(hash, b.tables->g16[*(first - i)]);
  std::uint64_t loose = 0, strict = 0;
  for (unsigned i = 0; i < run_positions; ++i) {
    hash = gear_step(hash, b.tables->g16[first[i]]);
    if ((hash & b.prefilter) != 0) continue;
    const std::uint32_t verify = verify_hash(b.tables->g32, first + i);
    if ((verify & b.loose_verify) == 0) loose |= std::uint64_t{1} << i;
    if ((verify & b.strict_verify) == 0) strict |= std::uint64_t{1} << i;
  }
  b.loose[run] = loose;
  b.strict[run] = strict;
}

BRAID_BOTH std::uint64_t summary_of(const std::uint64_t* bits, std::uint32_t words, std::uint32_t index) {
  std::uint64_t out = 0;
  for (std::uint32_t i = 0; i < 64 && index * 64 + i < words; ++i)
    if (bits[index * 64 + i] != 0) out |= std::uint64_t{1} << i;
  return out;
}

BRAID_BOTH void summarise(const Batch& b, std::uint32_t index) {
  const std::uint32_t words = words_of(b.input_bytes, run_positions);
  b.loose_summary[index] = summary_of(b.loose, words, index);
  b.strict_summary[index] = summary_of(b.strict, words, index);
}

// The first set position in [from, to), or `to`.
BRAID_BOTH std::uint32_t find(const std::uint64_t* bits, const std::uint64_t* summary, std::uint32_t from,
                              std::uint32_t to) {
  if (from >= to) return to;
  std::uint32_t word = from / 64;
  std::uint64_t found = bits[word] & ~std::uint64_t{0} << from % 64;
  while (found == 0) {
    if (++word * 64 >= to) return to;
    const std::uint64_t words = summary[word / 64] & ~std::uint64_t{0} << word % 64;
    if (words == 0) {
      word |= 63;
      continue;
    }
    word = word / 64 * 64 + lowest(words);
    if (word * 64 >= to) return to;
    found = bits[word];
  }
  const std::uint32_t position = word * 64 + lowest(found);
  return position < to ? position : to;
}

struct SelectedCut {
  std::uint32_t length;  // 0: depends on what follows
  std::uint32_t flags;   // of Chunk
};

// The rule of Chunker::next() for the `left` bytes from `at` on.
BRAID_BOTH SelectedCut select_cut(const Batch& b, const Stream& s, std::uint32_t at, std::uint32_t left) {
  constexpr std::uint32_t forced = 2, tail = 4;  // ChunkFlag
  if ((s.flags & is_one_chunk) != 0) return {left, 0};
  if (b.chunk_min == b.chunk_max) {
    const std::uint64_t offset = s.stream_offset + (at - s.begin);
    const auto block = static_cast<std::uint32_t>(b.chunk_max - offset % b.chunk_max);
    if (left >= block) return {block, forced};
  } else {
    const std::uint32_t strict_end = at + (left < b.chunk_avg ? left : b.chunk_avg);
    const std::uint32_t strict = find(b.strict, b.strict_summary, at + b.chunk_min, strict_end);
    if (strict < strict_end) return {strict + 1 - at, 0};
    const std::uint32_t loose_end = at + (left < b.chunk_max ? left : b.chunk_max);
    const std::uint32_t loose = find(b.loose, b.loose_summary, at + b.chunk_avg, loose_end);
    if (loose < loose_end) return {loose + 1 - at, 0};
    if (left >= b.chunk_max) return {b.chunk_max, forced};
  }
  return (s.flags & is_at_end) != 0 ? SelectedCut{left, tail} : SelectedCut{0, 0};
}

BRAID_BOTH void select(const Batch& b, std::uint32_t stream) {
  const Stream& s = b.streams[stream];
  Record* record = b.records + s.first_record;
  std::uint32_t done = 0;
  do {
    const SelectedCut cut = select_cut(b, s, s.begin + done, s.bytes - done);
    if (cut.length == 0 && (s.flags & is_one_chunk) == 0) break;
    record->begin = s.begin + done;
    record->length = cut.length;
    record->flags = cut.flags | is_used;
    record->stream = stream;
    ++record;
    done += cut.length;
  } while (done < s.bytes);
}

// Chunk number c of a stream has the slots from position / 1024 + c on: enough for its last, partial leaf
// too.
BRAID_BOTH std::uint32_t first_slot(const Batch& b, std::uint32_t record) {
  const Record& r = b.records[record];
  const Stream& s = b.streams[r.stream];
  return s.first_leaf + (r.begin - s.begin) / blake3::leaf_bytes + (record - s.first_record);
}

BRAID_BOTH void describe(const Batch& b, std::uint32_t record) {
  const Record& r = b.records[record];
  if (r.flags == 0) return;
  const std::uint32_t total = r.length == 0 ? 1 : words_of(r.length, blake3::leaf_bytes);
  Leaf* leaf = b.leaves + first_slot(b, record);
  for (std::uint32_t i = 0; i < total; ++i) {
    const std::uint32_t left = r.length - i * blake3::leaf_bytes;
    leaf[i] = {r.begin + i * blake3::leaf_bytes, left < blake3::leaf_bytes ? left : blake3::leaf_bytes, i,
               total};
  }
}

// Block `block` of a leaf, padded with zeros; returns how many bytes it has.
BRAID_BOTH std::uint32_t load_block(const Batch& b, const Leaf& leaf, std::uint32_t block,
                                    std::uint32_t m[16]) {
  const std::uint32_t before = block * blake3::block_bytes;
  const std::uint32_t bytes =
      leaf.bytes - before < blake3::block_bytes ? leaf.bytes - before : blake3::block_bytes;
  const unsigned char* from = b.input + leaf.begin + before;
  BRAID_UNROLL for (std::uint32_t i = 0; i < 16; ++i) {
    const std::uint32_t word = 4 * i < bytes ? load_word(from + 4 * i) : 0;
    m[i] = 4 * i + 4 <= bytes ? word : word & ((1U << (bytes % 4 * 8)) - 1);
  }
  return bytes;
}

BRAID_BOTH void hash_leaf(const Batch& b, std::uint32_t slot) {
  const Leaf leaf = b.leaves[slot];
  if (leaf.total == 0) return;
  std::uint32_t cv[8], m[16], out[16], not_zero = 0;
  BRAID_UNROLL for (unsigned i = 0; i < 8; ++i) cv[i] = b.key[i];
  const std::uint32_t blocks = leaf.bytes == 0 ? 1 : words_of(leaf.bytes, blake3::block_bytes);
  for (std::uint32_t i = 0; i < blocks; ++i) {
    const std::uint32_t bytes = load_block(b, leaf, i, m);
    BRAID_UNROLL for (unsigned w = 0; w < 16; ++w) not_zero |= m[w];
    std::uint32_t flags = b.flags;
    if (i == 0) flags |= blake3::chunk_start;
    if (i + 1 == blocks) flags |= blake3::chunk_end;
    if (i + 1 == blocks && leaf.total == 1) flags |= blake3::root;
    blake3::compress(cv, m, leaf.index, bytes, flags, out);
    BRAID_UNROLL for (unsigned w = 0; w < 8; ++w) cv[w] = out[w];
  }
  Node& node = b.nodes[slot];
  BRAID_UNROLL for (unsigned i = 0; i < 8; ++i) node.value[i] = cv[i];
  node.not_zero = not_zero;
}

// Level 0 joins neighbouring leaves, level 1 neighbouring pairs, ...; the value of a subtree is kept in the
// slot of its first leaf, and one without a right neighbour stays as it is.
BRAID_BOTH void join(const Batch& b, std::uint32_t level, std::uint32_t slot) {
  const Leaf& leaf = b.leaves[slot];
  const std::uint32_t half = 1U << level;
  if (leaf.index % (2 * half) != 0 || leaf.index + half >= leaf.total) return;
  Node& left = b.nodes[slot];
  const Node& right = b.nodes[slot + half];
  std::uint32_t m[16], out[16];
  BRAID_UNROLL for (unsigned i = 0; i < 8; ++i) {
    m[i] = left.value[i];
    m[i + 8] = right.value[i];
  }
  const bool top = leaf.index == 0 && 2 * half >= leaf.total;
  blake3::compress(b.key, m, 0, blake3::block_bytes, b.flags | blake3::parent | (top ? blake3::root : 0U),
                   out);
  BRAID_UNROLL for (unsigned i = 0; i < 8; ++i) left.value[i] = out[i];
  left.not_zero |= right.not_zero;
}

BRAID_BOTH void finish(const Batch& b, std::uint32_t record) {
  Record& r = b.records[record];
  if (r.flags == 0) return;
  const Node& top = b.nodes[first_slot(b, record)];
  const bool wants_id = (b.streams[r.stream].flags & has_no_ids) == 0;
  BRAID_UNROLL for (unsigned i = 0; i < 8; ++i) r.id[i] = wants_id ? top.value[i] : 0;
  if (top.not_zero == 0) r.flags |= 1;  // zero_chunk
}

}  // namespace braid::hashing::card
