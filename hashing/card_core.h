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
#include "hashing/gear_core.h"
#include "hashing/load_core.h"
#include "hashing/md5_core.h"

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

// Of the 64 positions from `first` on those that the prefilter lets through.
BRAID_BOTH std::uint64_t filter_run(const Batch& b, const unsigned char* first) {
  constexpr std::uint32_t before = 16;
  std::uint32_t words[(before + run_positions) / 4];
  load_aligned(first - before, words);
  const auto entry = [&](unsigned i) {
    return std::uint32_t{b.tables->g16[words[i / 4] >> i % 4 * 8 & 0xff]};
  };
  std::uint32_t hash = 0;
  BRAID_UNROLL for (unsigned i = before + 1 - prefilter_window; i < before; ++i) hash =
      gear_step(hash, entry(i));
  std::uint64_t out = 0;
  BRAID_UNROLL for (unsigned i = 0; i < run_positions; ++i) {
    hash = gear_step(hash, entry(before + i));
    if ((hash & b.prefilter) == 0) out |= std::uint64_t{1} << i;
  }
  return out;
}

BRAID_BOTH void candidates(const Batch& b, std::uint32_t group) {
  const auto head = [&](const std::uint64_t* bits) {
    const std::uint32_t found = ballot([&](std::uint32_t lane) { return bits[group * lanes + lane] != 0; });
    if (found == 0) return no_head;
    return lowest(found) * run_positions + lowest(bits[group * lanes + lowest(found)]);
  };
  each_lane([&](std::uint32_t lane) {
    const std::uint32_t run = group * lanes + lane;
    const unsigned char* first = b.input + run * run_positions;
    std::uint64_t loose = 0, strict = 0;
    if (run * run_positions < b.input_bytes)
      for (std::uint64_t left = filter_run(b, first); left != 0; left &= left - 1) {
        const std::uint32_t verify = verify_hash(b.tables->g32, first + lowest(left));
        const std::uint64_t bit = left & ~(left - 1);
        if ((verify & b.loose_verify) == 0) loose |= bit;
        if ((verify & b.strict_verify) == 0) strict |= bit;
      }
    b.loose[run] = loose;
    b.strict[run] = strict;
  });
  const std::uint32_t loose = head(b.loose), strict = head(b.strict);
  each_lane([&](std::uint32_t lane) {
    if (lane == 0) b.heads[group] = loose | strict << 16;
  });
}

// The heads of some of the groups that a stream has, next to the threads that look for its cuts. They go
// through them forward only.
class HeadWindow {
 public:
  static constexpr std::uint32_t size = 2048;

  // `words` are the warp's own, `size` of them; `end`: behind the stream's last group.
  BRAID_BOTH HeadWindow(const std::uint32_t* heads, std::uint32_t* words, std::uint32_t end)
      : heads_(heads), words_(words), end_(end) {}
  // From now on at() may be asked for the groups from `first` up to `last`, at most `size` of them.
  BRAID_BOTH void reach(std::uint32_t first, std::uint32_t last) {
    if (last < have_ || have_ == end_) return;
    begin_ = first;
    have_ = least(end_, first + size);
    each_lane([&](std::uint32_t lane) {
      for (std::uint32_t i = first + lane; i < have_; i += lanes) words_[i - first] = heads_[i];
    });
  }
  [[nodiscard]] BRAID_BOTH std::uint32_t at(std::uint32_t group) const { return words_[group - begin_]; }

 private:
  const std::uint32_t* heads_;
  std::uint32_t* words_;
  std::uint32_t end_, begin_ = 0, have_ = 0;
};

// The first position of the group that is set in `bits` and not before `from`; no_position if there is none.
constexpr std::uint32_t no_position = ~std::uint32_t{0};
BRAID_BOTH std::uint32_t find_in_group(const std::uint64_t* bits, std::uint32_t group, std::uint32_t from) {
  const auto left = [&](std::uint32_t lane) {
    const std::uint32_t word = group * lanes + lane;
    if (word < from / run_positions) return std::uint64_t{0};
    return bits[word] &
           (word == from / run_positions ? ~std::uint64_t{0} << from % run_positions : ~std::uint64_t{0});
  };
  const std::uint32_t found = ballot([&](std::uint32_t lane) { return left(lane) != 0; });
  if (found == 0) return no_position;
  return (group * lanes + lowest(found)) * run_positions + lowest(left(lowest(found)));
}

// Positions in [from, to) that are strict, or loose.
class Range {
 public:
  BRAID_BOTH Range(const std::uint64_t* bits, std::uint32_t shift, std::uint32_t from, std::uint32_t to)
      : bits_(bits),
        shift_(shift),
        from_(from),
        to_(to),
        first_(from / group_positions),
        end_(from < to ? (to - 1) / group_positions + 1 : first_) {}
  [[nodiscard]] BRAID_BOTH std::uint32_t first_group() const { return first_; }
  // Which of the next 32 groups have such a position. The window has reached them.
  [[nodiscard]] BRAID_BOTH std::uint32_t look(const HeadWindow& window, std::uint32_t group) const {
    return ballot(
        [&](std::uint32_t lane) { return group + lane < end_ && head(window, group + lane) != no_head; });
  }
  // The first one, or no_position. `found` is what look() says of the first groups.
  BRAID_BOTH std::uint32_t find(HeadWindow& window, std::uint32_t found) const {
    for (std::uint32_t group = first_;;) {
      for (; found != 0; found &= found - 1) {
        const std::uint32_t here = group + lowest(found);
        std::uint32_t position = here * group_positions + head(window, here);
        if (position < from_) position = find_in_group(bits_, here, from_);
        if (position != no_position) return position < to_ ? position : no_position;
      }
      group += lanes;
      if (group >= end_) return no_position;
      window.reach(group, group + lanes - 1);
      found = look(window, group);
    }
  }

 private:
  [[nodiscard]] BRAID_BOTH std::uint32_t head(const HeadWindow& window, std::uint32_t group) const {
    return window.at(group) >> shift_ & no_head;
  }

  const std::uint64_t* bits_;
  std::uint32_t shift_, from_, to_, first_, end_;
};

struct SelectedCut {
  std::uint32_t length;  // 0: depends on what follows
  std::uint32_t flags;   // of Chunk
};

// The rule of Chunker::next() for the `left` bytes from `at` on.
BRAID_BOTH SelectedCut select_cut(const Batch& b, const Stream& s, HeadWindow& window, std::uint32_t at,
                                  std::uint32_t left) {
  constexpr std::uint32_t forced = 2, tail = 4;  // ChunkFlag
  if ((s.flags & is_one_chunk) != 0) return {left, 0};
  if (b.chunk_min == b.chunk_max) {
    const std::uint64_t offset = s.stream_offset + (at - s.begin);
    const auto block = static_cast<std::uint32_t>(b.chunk_max - offset % b.chunk_max);
    if (left >= block) return {block, forced};
  } else {
    const Range strict(b.strict, 16, at + b.chunk_min, at + least(left, b.chunk_avg));
    const Range loose(b.loose, 0, at + b.chunk_avg, at + least(left, b.chunk_max));
    // One look at both: most cuts are found by it.
    window.reach(strict.first_group(), loose.first_group() + lanes - 1);
    const std::uint32_t strict_found = strict.look(window, strict.first_group());
    const std::uint32_t loose_found = loose.look(window, loose.first_group());
    std::uint32_t cut = strict.find(window, strict_found);
    if (cut == no_position) cut = loose.find(window, loose_found);
    if (cut != no_position) return {cut + 1 - at, 0};
    if (left >= b.chunk_max) return {b.chunk_max, forced};
  }
  return (s.flags & is_at_end) != 0 ? SelectedCut{left, tail} : SelectedCut{0, 0};
}

// Chunk number c of a stream has the tiles from (its offset) / (bytes of a tile) + c on: enough for its last
// one, which may not be full, too.
BRAID_BOTH std::uint32_t first_tile(const Batch& b, const Stream& s, std::uint32_t record,
                                    std::uint32_t offset) {
  return s.first_tile + offset / (tile_leaves * b.leaf_bytes) + (record - s.first_record);
}

// Writes the tiles of a chunk, and that those behind it up to the next chunk's are unused.
BRAID_BOTH void describe(const Batch& b, const Stream& s, std::uint32_t record, std::uint32_t begin,
                         std::uint32_t length) {
  const std::uint32_t bytes = tile_leaves * b.leaf_bytes;
  const std::uint32_t leaves = length == 0 ? 1 : words_of(length, b.leaf_bytes);
  const std::uint32_t end = first_tile(b, s, record + 1, begin + length - s.begin);
  std::uint32_t first = 0;
  for (std::uint32_t i = first_tile(b, s, record, begin - s.begin); i < end; ++i, first += tile_leaves) {
    const std::uint32_t done = first * b.leaf_bytes;
    b.tiles[i] = {begin + done, least(bytes, length - done), first, first < leaves ? leaves : 0};
  }
}

// `heads` are the warp's own, HeadWindow::size of them.
BRAID_BOTH void select(const Batch& b, std::uint32_t stream, std::uint32_t* heads) {
  const Stream s = b.streams[stream];
  HeadWindow window(b.heads, heads, words_of(s.begin + s.bytes, group_positions));
  const std::uint32_t flags = b.sequence << sequence_shift | is_used;
  std::uint32_t count = 0, done = 0;
  do {
    const SelectedCut cut = select_cut(b, s, window, s.begin + done, s.bytes - done);
    if (cut.length == 0 && (s.flags & is_one_chunk) == 0) break;
    each_lane([&](std::uint32_t lane) {
      if (lane != 0) return;
      Record& out = b.records[s.first_record + count];
      out.begin = s.begin + done;
      out.length = cut.length;
      out.flags = cut.flags | flags;
      out.stream = stream;
    });
    ++count;
    done += cut.length;
  } while (done < s.bytes);
  // What an earlier batch has left in the others is not of this one.
  each_lane([&](std::uint32_t lane) {
    for (std::uint32_t i = lane; i < s.record_count; i += lanes) {
      Record& r = b.records[s.first_record + i];
      if (i < count)
        describe(b, s, s.first_record + i, r.begin, r.length);
      else
        r.flags = 0;
    }
    const std::uint32_t end = s.first_tile + tiles_of(s.bytes, s.record_count, b.leaf_bytes);
    for (std::uint32_t i = first_tile(b, s, s.first_record + count, done) + lane; i < end; i += lanes)
      b.tiles[i].total = 0;
  });
}

struct Leaf {
  std::uint32_t begin;  // in the input
  std::uint32_t bytes;  // 0..Batch::leaf_bytes
  std::uint32_t index;  // in its chunk
  std::uint32_t total;  // leaves of its chunk
};

BRAID_BOTH void hash_blake3_leaf(const Batch& b, const Leaf& leaf, Node& node) {
  std::uint32_t cv[8], m[16], out[16], not_zero = 0;
  BRAID_UNROLL for (unsigned i = 0; i < 8; ++i) cv[i] = b.key[i];
  const std::uint32_t blocks = leaf.bytes == 0 ? 1 : words_of(leaf.bytes, blake3::block_bytes);
  BlockReader reader(b.input + leaf.begin, leaf.bytes);
  for (std::uint32_t i = 0; i < blocks; ++i) {
    const std::uint32_t bytes = reader.next(m);
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

// `left` becomes the value above both; they are not in the order that the tree has if `top`.
BRAID_BOTH void join(const Batch& b, std::uint32_t* left, const std::uint32_t* right, bool top) {
  std::uint32_t m[16], out[16];
  BRAID_UNROLL for (unsigned i = 0; i < value_words; ++i) {
    m[i] = left[i];
    m[i + 8] = right[i];
  }
  blake3::compress(b.key, m, 0, blake3::block_bytes, b.flags | blake3::parent | (top ? blake3::root : 0U),
                   out);
  BRAID_UNROLL for (unsigned i = 0; i < value_words; ++i) left[i] = out[i];
}

// A kernel for each function: what one needs of registers is not what the other needs. `nodes` are the warp's
// own, tile_leaves of them.
template <Function F>
BRAID_BOTH void hash_tile(const Batch& b, std::uint32_t index, Node* nodes) {
  const Tile tile = b.tiles[index];
  if (tile.total == 0) return;
  const std::uint32_t count = least(tile_leaves, tile.total - tile.first);
  each_lane([&](std::uint32_t lane) {
    if (lane >= count) return;
    const std::uint32_t before = lane * b.leaf_bytes;
    const Leaf leaf{tile.begin + before, least(b.leaf_bytes, tile.bytes - before), tile.first + lane,
                    tile.total};
    if constexpr (F == md5_tree_function)
      hash_md5_leaf(b, leaf, nodes[lane]);
    else
      hash_blake3_leaf(b, leaf, nodes[lane]);
  });
  const std::uint32_t not_zero =
      ballot([&](std::uint32_t lane) { return lane < count && nodes[lane].not_zero != 0; });
  // Neighbouring leaves are joined, neighbouring pairs, ...; one without a right neighbour stays as it is.
  if constexpr (F == blake3_function)
    for (std::uint32_t half = 1; half < count; half *= 2)
      each_lane([&](std::uint32_t lane) {
        if (lane % (2 * half) == 0 && lane + half < count)
          join(b, nodes[lane].value, nodes[lane + half].value, 2 * half >= tile.total);
      });
  constexpr std::uint32_t words = F == md5_tree_function ? md5_value_words : value_words;
  each_lane([&](std::uint32_t lane) {
    if (lane == 0) b.not_zero[index] = not_zero;
    if (lane >= (F == md5_tree_function ? count : 1)) return;
    std::uint32_t* value = b.values + index * tile_value_words(F) + lane * words;
    BRAID_UNROLL for (unsigned i = 0; i < words; ++i) value[i] = nodes[lane].value[i];
  });
}

// The MD5 of the leaves' MD5s (hashing/tree_hash.h), in the place of the first.
BRAID_BOTH void join_md5(std::uint32_t* leaf_values, std::uint32_t leaves) {
  md5::State state = md5::initial_state();
  std::uint32_t block[16];
  for (std::uint32_t first = 0; first <= leaves; first += md5_values_per_block) {
    const std::uint32_t values = least(leaves - first, md5_values_per_block);
    BRAID_UNROLL for (std::uint32_t v = 0; v < md5_values_per_block; ++v)
        BRAID_UNROLL for (std::uint32_t w = 0; w < md5_value_words; ++w) block[4 * v + w] =
            v < values ? leaf_values[(first + v) * md5_value_words + w] : 0;
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
  BRAID_UNROLL for (unsigned i = 0; i < md5_value_words; ++i) leaf_values[i] = state.word[i];
}

BRAID_BOTH void finish(const Batch& b, std::uint32_t record) {
  Record& r = b.records[record];
  if (r.flags == 0) return;
  const Stream& s = b.streams[r.stream];
  const std::uint32_t first = first_tile(b, s, record, r.begin - s.begin), leaves = b.tiles[first].total;
  const std::uint32_t tiles = words_of(leaves, tile_leaves);
  std::uint32_t* values = b.values + first * tile_value_words(b.function);
  if (b.function == md5_tree_function)
    each_lane([&](std::uint32_t lane) {
      if (lane == 0) join_md5(values, leaves);
    });
  else
    for (std::uint32_t half = 1; half < tiles; half *= 2)
      each_lane([&](std::uint32_t lane) {
        for (std::uint32_t i = lane * 2 * half; i + half < tiles; i += lanes * 2 * half)
          join(b, values + i * value_words, values + (i + half) * value_words, 2 * half >= tiles);
      });
  std::uint32_t not_zero = 0;
  for (std::uint32_t i = 0; i < tiles; i += lanes)
    not_zero |=
        ballot([&](std::uint32_t lane) { return i + lane < tiles && b.not_zero[first + i + lane] != 0; });
  const bool wants_id = (s.flags & has_no_ids) == 0;
  const std::uint32_t words = b.function == md5_tree_function ? md5_value_words : value_words;
  each_lane([&](std::uint32_t lane) {
    if (lane < 8) r.id[lane] = wants_id && lane < words ? values[lane] : 0;
    if (lane == 0 && not_zero == 0) r.flags |= 1;  // zero_chunk
  });
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

BRAID_BOTH void slide(const Slide& s, std::uint32_t group) {
  each_lane([&](std::uint32_t lane) {
    const std::uint32_t run = group * lanes + lane;
    if (run * run_positions >= s.bytes) return;
    std::uint64_t marks = 0;
    for (std::uint32_t i = 0; i < run_positions; ++i) {
      const std::uint32_t begin = run * run_positions + i;
      if (begin % s.step != 0 || begin + s.window > s.bytes) continue;
      if ((md5::first_word(s.input + begin, s.window) & s.mask) == 0) marks |= std::uint64_t{1} << i;
    }
    s.marks[run] = marks;
  });
}

}  // namespace braid::hashing::card
