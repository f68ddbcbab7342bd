// Cutting and hashing on one thread; bench/hashing prints the same beside memcpy and other hashes.
#include <benchmark/benchmark.h>

#include <random>
#include <vector>

#include "base/clock.h"
#include "hashing/blake3_batch.h"
#include "hashing/cpu_hasher.h"
#include "hashing/gear.h"

namespace braid {
namespace {

using namespace hashing;

base::Bytes random_data(std::size_t bytes) {
  std::mt19937_64 random(1);
  base::Bytes out(bytes);
  for (std::byte& b : out) b = static_cast<std::byte>(random());
  return out;
}

// A mebibyte of messages of the given length.
void blake3_batch(benchmark::State& state) {
  const base::Bytes data = random_data(base::MiB);
  const auto length = static_cast<std::size_t>(state.range(0));
  std::vector<base::BytesView> messages;
  for (std::size_t at = 0; at < data.size(); at += length)
    messages.push_back(base::BytesView(data).subspan(at, length));
  std::vector<Digest> ids(messages.size());
  Blake3Batch batch(available_simd()[static_cast<std::size_t>(state.range(1))]);
  for (auto _ : state) batch.hash(blake3::keyed_mode(Key()), messages, ids);
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(base::MiB));
}

void candidates(benchmark::State& state) {
  const base::Bytes data = random_data(16 * base::MiB);
  const GearTables tables = GearTables::from(Key());
  const GearScan scan = gear_scan(available_simd()[static_cast<std::size_t>(state.range(0))]);
  for (auto _ : state)
    benchmark::DoNotOptimize(scan(tables, data.data(), verify_window - 1, data.size(), {0xfff0, 0xffffffff}));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(data.size()));
}

void cut_and_hash(benchmark::State& state) {
  const base::Bytes data = random_data(16 * base::MiB);
  const base::SystemClock clock;
  CpuHasher hasher(clock);
  const ChunkParams params = ChunkParams::of(all_profiles[static_cast<std::size_t>(state.range(0))], Key());
  const Job job{.params = &params, .spans = {data}};
  for (auto _ : state) benchmark::DoNotOptimize(hasher.run(job)->consumed);
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(data.size()));
}

// As what arrives by TCP lies in buffers: the record's head moves the last bytes of a MiB into another one.
void cut_and_hash_buffers(benchmark::State& state) {
  constexpr std::size_t last = 140, streamed = 8 * base::MiB;
  const base::Bytes data = random_data(streamed);
  const base::SystemClock clock;
  CpuHasher hasher(clock);
  const ChunkParams params = ChunkParams::of(Profile::general, Key());
  Job job{.params = &params};
  for (std::size_t at = 0; at < data.size(); at += base::MiB) {
    job.spans.push_back(base::BytesView(data).subspan(at, base::MiB - last));
    job.spans.push_back(base::BytesView(data).subspan(at + base::MiB - last, last));
  }
  for (auto _ : state) benchmark::DoNotOptimize(hasher.run(job)->consumed);
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(streamed));
}

void every_level(benchmark::internal::Benchmark* benchmark) {
  for (std::size_t level = 0; level < available_simd().size(); ++level)
    for (const int length : {4096, 65536, 1048576}) benchmark->Args({length, static_cast<int>(level)});
}

BENCHMARK(blake3_batch)->Apply(every_level);
BENCHMARK(candidates)->DenseRange(0, static_cast<int>(available_simd().size()) - 1);
BENCHMARK(cut_and_hash)->DenseRange(0, 2);
BENCHMARK(cut_and_hash_buffers);

}  // namespace
}  // namespace braid
