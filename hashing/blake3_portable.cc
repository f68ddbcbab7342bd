// One lane at a time, with the compression function that the card runs.
#include <cstring>

#include "hashing/blake3_core.h"
#include "hashing/blake3_lanes.h"

namespace braid::hashing::blake3 {
namespace {

void run_lane(const LaneOptions& options, const Lane& lane) {
  Words cv = options.key;
  for (std::uint32_t b = 0; b < lane.shape.count; ++b) {
    const bool last = b + 1 == lane.shape.count;
    std::uint32_t block[16];
    std::memcpy(block, last ? lane.last : lane.blocks + std::size_t{b} * block_bytes, sizeof block);
    const std::uint32_t flags =
        options.flags | (b == 0 ? options.first_flags : 0) | (last ? lane.shape.last_flags : 0);
    std::uint32_t out[16];
    compress(cv.word, block, lane.counter, last ? lane.shape.last_bytes : block_bytes, flags, out);
    std::memcpy(cv.word, out, sizeof cv.word);
  }
  *lane.out = cv;
}

void run(const LaneOptions& options, const Lane* lanes, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) run_lane(options, lanes[i]);
}

}  // namespace

const Kernel portable_kernel{1, run};

const Kernel& kernel_of([[maybe_unused]] Simd simd) {
#if defined(__x86_64__)
  if (simd == Simd::avx512) return avx512_kernel;
  if (simd == Simd::avx2) return avx2_kernel;
#endif
  return portable_kernel;
}

}  // namespace braid::hashing::blake3
