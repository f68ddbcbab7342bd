// The keyed hash that signs file handles, beside the unkeyed hash of the standard library.
#include "base/siphash.h"

#include <benchmark/benchmark.h>

#include <functional>
#include <string_view>
#include <vector>

namespace braid {
namespace {

void siphash24(benchmark::State& state) {
  const base::SipKey key{0x0706050403020100U, 0x0f0e0d0c0b0a0908U};
  const base::Bytes message(static_cast<std::size_t>(state.range(0)), std::byte{7});
  for (auto _ : state) benchmark::DoNotOptimize(base::siphash24(key, message));
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

void standard_hash(benchmark::State& state) {
  const base::Bytes message(static_cast<std::size_t>(state.range(0)), std::byte{7});
  for (auto _ : state) benchmark::DoNotOptimize(std::hash<std::string_view>{}(base::text_of(message)));
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

// A short handle, one of 64 bytes, and a call whose checksum the duplicate-request cache takes.
BENCHMARK(siphash24)->Arg(32)->Arg(64)->Arg(256);
BENCHMARK(standard_hash)->Arg(32)->Arg(64)->Arg(256);

}  // namespace
}  // namespace braid
