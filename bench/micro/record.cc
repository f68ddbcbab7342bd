// Cutting a TCP stream into records, by what one receive brings: many small calls, or a part of a large one.
#include <benchmark/benchmark.h>

#include <cstring>

#include "base/assert.h"
#include "io/slab.h"
#include "rpc/record_reader.h"

namespace braid {
namespace {

// Fills `slab` with as many whole records of `bytes` (mark included) as fit; returns the bytes used.
std::uint32_t fill_with_records(const io::SlabRef& slab, std::size_t bytes) {
  const auto length = static_cast<std::uint32_t>(bytes - 4);
  const std::uint32_t mark = __builtin_bswap32(0x80000000U | length);
  std::size_t used = 0;
  for (; used + bytes <= slab.bytes(); used += bytes) std::memcpy(slab.data() + used, &mark, sizeof mark);
  return static_cast<std::uint32_t>(used);
}

void records_of(benchmark::State& state, io::SlabSize size) {
  io::SlabPool pool({.bytes_max = 64 * base::MiB});
  auto slab = pool.acquire(size);
  base::check(slab.has_value(), "the pool is large enough");
  const std::uint32_t used = fill_with_records(*slab, static_cast<std::size_t>(state.range(0)));
  rpc::RecordReader reader({.record_bytes_max = 2 * base::MiB});
  std::int64_t records = 0;
  for (auto _ : state) {
    io::SlabRange input{*slab, 0, used};
    io::Payload record;
    while (reader.next(input, record) == rpc::RecordReader::Next::record) {
      benchmark::DoNotOptimize(record.size());
      record.clear();
      ++records;
    }
  }
  state.SetItemsProcessed(records);
  state.SetBytesProcessed(state.iterations() * used);
}

void small_records(benchmark::State& state) { records_of(state, io::SlabSize::small); }
void large_records(benchmark::State& state) { records_of(state, io::SlabSize::large); }

// The same bytes walked by hand: the least that finding the records costs.
void walk_by_hand(benchmark::State& state) {
  io::SlabPool pool({.bytes_max = 64 * base::MiB});
  auto slab = pool.acquire(io::SlabSize::small);
  base::check(slab.has_value(), "the pool is large enough");
  const std::uint32_t used = fill_with_records(*slab, static_cast<std::size_t>(state.range(0)));
  std::int64_t records = 0;
  for (auto _ : state) {
    for (std::size_t at = 0; at < used; ++records) {
      std::uint32_t mark;
      std::memcpy(&mark, slab->data() + at, sizeof mark);
      at += 4 + (__builtin_bswap32(mark) & 0x7fffffffU);
      benchmark::DoNotOptimize(at);
    }
  }
  state.SetItemsProcessed(records);
  state.SetBytesProcessed(state.iterations() * used);
}

BENCHMARK(small_records)->Arg(128)->Arg(4096 + 128);
BENCHMARK(walk_by_hand)->Arg(128)->Arg(4096 + 128);
BENCHMARK(large_records)->Arg(512 * 1024);

}  // namespace
}  // namespace braid
