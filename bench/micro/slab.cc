// Memory for replies and payload, beside malloc.
#include "io/slab.h"

#include <benchmark/benchmark.h>

#include <cstdlib>

#include "base/assert.h"
#include "io/payload.h"

namespace braid {
namespace {

io::SlabPoolOptions small_pool() { return {.bytes_max = 64 * base::MiB}; }

// The reply of a small call: carved, trimmed to its length, dropped.
void carve_and_trim(benchmark::State& state) {
  io::SlabPool pool(small_pool());
  io::SlabCursor cursor(pool);
  const auto used = static_cast<std::size_t>(state.range(0));
  for (auto _ : state) {
    auto range = cursor.carve(4096);
    base::check(range.has_value(), "the pool is large enough");
    cursor.trim(*range, used);
    benchmark::DoNotOptimize(range->writable().data());
  }
}

void malloc_and_free(benchmark::State& state) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  for (auto _ : state) {
    void* memory = std::malloc(bytes);
    benchmark::DoNotOptimize(memory);
    std::free(memory);
  }
}

void acquire_slab(benchmark::State& state) {
  io::SlabPool pool(small_pool());
  const auto size = static_cast<io::SlabSize>(state.range(0));
  for (auto _ : state) {
    auto slab = pool.acquire(size);
    base::check(slab.has_value(), "the pool is large enough");
    benchmark::DoNotOptimize(slab->data());
  }
}

// What a layer pays that passes a part of a payload on.
void slice_payload(benchmark::State& state) {
  io::SlabPool pool(small_pool());
  auto slab = pool.acquire(io::SlabSize::large);
  base::check(slab.has_value(), "the pool is large enough");
  const io::Payload payload(io::SlabRange{*slab, 0, io::large_slab_bytes});
  for (auto _ : state) benchmark::DoNotOptimize(payload.slice(4096, 8192).size());
}

BENCHMARK(carve_and_trim)->Arg(128)->Arg(1024);
BENCHMARK(malloc_and_free)->Arg(128)->Arg(1024);
BENCHMARK(acquire_slab)
    ->Arg(static_cast<int>(io::SlabSize::small))
    ->Arg(static_cast<int>(io::SlabSize::large));
BENCHMARK(slice_payload);

}  // namespace
}  // namespace braid
