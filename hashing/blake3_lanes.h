// Many nodes of BLAKE3 trees at once: each lane is one leaf or one parent, of any message. The tree logic
// (blake3.cc, blake3_batch.cc) makes lanes; a kernel per instruction set works them off.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hashing/simd.h"

namespace braid::hashing::blake3 {

// A chaining value, or a key, as words.
struct Words {
  std::uint32_t word[8];
};

// How the blocks of a node are to be taken; one word, because nearly all lanes of a call have the same.
struct Shape {
  std::uint16_t count = 1;       // blocks, the last one included; >= 1
  std::uint16_t last_bytes = 0;  // 0..64
  std::uint32_t last_flags = 0;  // beside `flags`: chunk_end, root
};

// One node. A leaf has 1 to 16 blocks, a parent 1.
struct Lane {
  const std::byte* blocks;  // every block but the last
  const std::byte* last;    // 64 readable bytes, those behind last_bytes zero
  Shape shape;
  std::uint64_t counter;  // index of the leaf in its message; 0 for parents
  Words* out;             // may be what another lane of the same call reads, if that lane comes earlier
};

// Of one call, for all lanes.
struct LaneOptions {
  Words key;
  std::uint32_t flags = 0;        // keyed_hash, parent, ...
  std::uint32_t first_flags = 0;  // of each lane's first block: chunk_start for leaves
};

// Computes every lane's chaining value. Lanes are taken in order, `width` at a time; a group is read as a
// whole before it is written.
struct Kernel {
  std::size_t width;
  void (*run)(const LaneOptions& options, const Lane* lanes, std::size_t count);
};
const Kernel& kernel_of(Simd simd);

extern const Kernel portable_kernel;
extern const Kernel avx2_kernel;
extern const Kernel avx512_kernel;

}  // namespace braid::hashing::blake3
