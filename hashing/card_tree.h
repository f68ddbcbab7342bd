// The steps of a card that hash what was cut: tiles of leaves, and the tops of the trees. Compiled for the
// host and for the card.
#pragma once

#include <cstdint>

#include "hashing/blake3_core.h"
#include "hashing/card_core.h"
#include "hashing/load_core.h"
#include "hashing/md5_core.h"

namespace braid::hashing::card {

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

// `left` becomes the value above both; `top`: that is the root of the tree.
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

}  // namespace braid::hashing::card
