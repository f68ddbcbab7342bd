// The file through which alloc_count.so tells how often a process has allocated memory.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace braid::alloc_count {

// Names the file; the library maps it when the process starts and counts only then.
constexpr const char* environment_name = "ALLOC_COUNT_FILE";

// The whole file: threads add to different cache lines, a reader takes the sum.
struct Counters {
  static constexpr std::size_t shards = 64;
  struct alignas(64) Shard {
    std::atomic<std::uint64_t> allocations;
  };
  std::array<Shard, shards> by_thread;
};
static_assert(sizeof(Counters) == 4096);

}  // namespace braid::alloc_count
