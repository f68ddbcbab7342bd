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
// No step waits for another index of its own; what it reads, earlier steps wrote. With md5_tree as algorithm
// the leaves are the larger ones of that tree, join has nothing to do and finish hashes the leaves' values.
//
// The sliding window of hashing/sliding_window.h is a step beside these: slide, one index per 64 positions.
#pragma once

#include <cstdint>

#include "hashing/blake3_core.h"
#include "hashing/gear_core.h"
#include "hashing/load_core.h"
#include "hashing/md5_core.h"

namespace braid::hashing::card {

constexpr std::uint32_t run_positions = 64;                      // of one word of a bitmap
constexpr std::uint32_t summary_positions = 64 * run_positions;  // of one word of a summary
constexpr std::uint32_t stream_alignment = 64;  // in the input: no word has positions of two streams
constexpr std::uint32_t input_margin = 64;      // readable bytes before and behind the input

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
  std::uint32_t first_record;  // of its chunk records
  std::uint32_t first_leaf;    // of its leaf slots
  std::uint32_t flags;
  std::uint32_t unused;
};

// In Record::flags of every chunk, the empty one too; not one of Chunk's.
constexpr std::uint32_t is_used = 0x80000000U;
// Behind Chunk's flags, the number of the batch: a record that an earlier batch has left is not taken for one
// of this.
constexpr std::uint32_t chunk_flags = 0xff;
constexpr std::uint32_t sequence_shift = 8;
constexpr std::uint32_t sequence_mask = 0x7fffffU;

// 48 bytes back to the host for each chunk.
struct Record {
  std::uint32_t begin;  // in the input
  std::uint32_t length;
  std::uint32_t flags;  // of Chunk, the batch's number, and is_used; 0: no chunk
  std::uint32_t stream;
  std::uint32_t id[8];
};
static_assert(sizeof(Record) == 48);

struct Leaf {
  std::uint32_t begin;  // in the input
  std::uint32_t bytes;  // 0..Batch::leaf_bytes
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
  std::uint32_t function;    // Function
  std::uint32_t leaf_bytes;  // of its leaves
  std::uint32_t flags;       // of the mode of BLAKE3
  std::uint32_t levels;      // of joins
  std::uint32_t sequence;    // of the batch, at most sequence_mask
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
    record->flags = cut.flags | b.sequence << sequence_shift | is_used;
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
  const std::uint32_t total = r.length == 0 ? 1 : words_of(r.length, b.leaf_bytes);
  Leaf* leaf = b.leaves + first_slot(b, record);
  for (std::uint32_t i = 0; i < total; ++i) {
    const std::uint32_t left = r.length - i * b.leaf_bytes;
    leaf[i] = {r.begin + i * b.leaf_bytes, left < b.leaf_bytes ? left : b.leaf_bytes, i, total};
  }
}

BRAID_BOTH void hash_blake3_leaf(const Batch& b, const Leaf& leaf, Node& node) {
  std::uint32_t cv[8], m[16], out[16], not_zero = 0;
  BRAID_UNROLL for (unsigned i = 0; i < 8; ++i) cv[i] = b.key[i];
  const std::uint32_t blocks = leaf.bytes == 0 ? 1 : words_of(leaf.bytes, blake3::block_bytes);
  for (std::uint32_t i = 0; i < blocks; ++i) {
    const std::uint32_t before = i * blake3::block_bytes;
    const std::uint32_t bytes =
        leaf.bytes - before < blake3::block_bytes ? leaf.bytes - before : blake3::block_bytes;
    load_padded(b.input + leaf.begin + before, bytes, m);
    BRAID_UNROLL for (unsigned w = 0; w < 16; ++w) not_zero |= m[w];
    std::uint32_t flags = b.flags;
    if (i == 0) flags |= blake3::chunk_start;
    if (i + 1 == blocks) flags |= blake3::chunk_end;
    if (i + 1 == blocks && leaf.total == 1) flags |= blake3::root;
    blake3::compress(cv, m, leaf.index, bytes, flags, out);
    BRAID_UNROLL for (unsigned w = 0; w < 8; ++w) cv[w] = out[w];
  }
  BRAID_UNROLL for (unsigned i = 0; i < 8; ++i) node.value[i] = cv[i];
  node.not_zero = not_zero;
}

BRAID_BOTH void hash_md5_leaf(const Batch& b, const Leaf& leaf, Node& node) {
  std::uint32_t not_zero = 0;
  const md5::State state = md5::digest_of(b.input + leaf.begin, leaf.bytes, not_zero);
  BRAID_UNROLL for (unsigned i = 0; i < 4; ++i) node.value[i] = state.word[i];
  node.not_zero = not_zero;
}

// A kernel for each function: what one needs of registers is not what the other needs.
template <Function F>
BRAID_BOTH void hash_leaf(const Batch& b, std::uint32_t slot) {
  const Leaf leaf = b.leaves[slot];
  if (leaf.total == 0) return;
  if constexpr (F == md5_tree_function)
    hash_md5_leaf(b, leaf, b.nodes[slot]);
  else
    hash_blake3_leaf(b, leaf, b.nodes[slot]);
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

// The MD5 of the leaves' MD5s, and 16 zero bytes (hashing/tree_hash.h); the leaves' not_zero is gathered too.
BRAID_BOTH void join_md5(Node* nodes, std::uint32_t leaves) {
  md5::State state = md5::initial_state();
  std::uint32_t not_zero = 0;
  std::uint32_t block[16];
  for (std::uint32_t first = 0; first <= leaves; first += md5_values_per_block) {
    const std::uint32_t values =
        leaves - first < md5_values_per_block ? leaves - first : md5_values_per_block;
    BRAID_UNROLL for (std::uint32_t v = 0; v < md5_values_per_block; ++v) {
      BRAID_UNROLL for (std::uint32_t w = 0; w < 4; ++w) block[4 * v + w] =
          v < values ? nodes[first + v].value[w] : 0;
      if (v < values) not_zero |= nodes[first + v].not_zero;
    }
    // Values fill a quarter of a block each, so the padding always fits the last block.
    if (values < md5_values_per_block) {
      BRAID_UNROLL for (std::uint32_t v = 0; v < md5_values_per_block; ++v) if (v == values) block[4 * v] =
          0x80;
      const std::uint32_t bytes = leaves * sizeof(md5::State);
      block[14] = bytes << 3;
      block[15] = bytes >> 29;
    }
    md5::compress(state, block);
  }
  BRAID_UNROLL for (unsigned i = 0; i < 8; ++i) nodes[0].value[i] = i < 4 ? state.word[i] : 0;
  nodes[0].not_zero = not_zero;
}

BRAID_BOTH void finish(const Batch& b, std::uint32_t record) {
  Record& r = b.records[record];
  if (r.flags == 0) return;
  const std::uint32_t slot = first_slot(b, record);
  if (b.function == md5_tree_function) join_md5(b.nodes + slot, b.leaves[slot].total);
  const Node& top = b.nodes[slot];
  const bool wants_id = (b.streams[r.stream].flags & has_no_ids) == 0;
  BRAID_UNROLL for (unsigned i = 0; i < 8; ++i) r.id[i] = wants_id ? top.value[i] : 0;
  if (top.not_zero == 0) r.flags |= 1;  // zero_chunk
}

// The sliding window of the papers over the whole input. Bit i of word w of `marks`: the window that begins
// at byte 64 w + i ends a chunk.
struct Slide {
  const unsigned char* input;  // input_margin readable bytes behind it
  std::uint32_t bytes;
  std::uint32_t window, step;
  std::uint32_t mask;  // of the digest's first word
  std::uint64_t* marks;
};

BRAID_BOTH void slide(const Slide& s, std::uint32_t run) {
  std::uint64_t marks = 0;
  for (std::uint32_t i = 0; i < run_positions; ++i) {
    const std::uint32_t begin = run * run_positions + i;
    if (begin % s.step != 0 || begin + s.window > s.bytes) continue;
    if ((md5::first_word(s.input + begin, s.window) & s.mask) == 0) marks |= std::uint64_t{1} << i;
  }
  s.marks[run] = marks;
}

}  // namespace braid::hashing::card
