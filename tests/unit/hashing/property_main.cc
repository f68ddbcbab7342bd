// braid-hashing-property: random streams, as many as time allows, cut and hashed in every way.
#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <string_view>

#include "hashing/cuda/cuda_cards.h"
#include "hashing/simd.h"
#include "tests/unit/hashing/property.h"

namespace {

using namespace braid;

constexpr std::string_view usage =
    "Usage: braid-hashing-property [SIZE [SEED]]\n\nCuts and hashes random streams in every way and says "
    "what "
    "differs.\nSIZE is in GB (10^9 bytes; default 1), or in MB as 20M. CUDA cards that are there take "
    "part.\n";

constexpr std::uint64_t megabyte = 1'000'000;

bool parse(std::string_view view, std::uint64_t& to) {
  const auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), to);
  return error == std::errc() && end == view.data() + view.size() && to > 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t amount = 1, seed = 1;
  std::string_view wanted = argc > 1 ? argv[1] : "1";
  const bool is_small = wanted.ends_with('M');
  if (is_small) wanted.remove_suffix(1);
  if (argc > 3 || !parse(wanted, amount) || (argc > 2 && !parse(argv[2], seed)) || amount > 1'000'000) {
    fmt::print(stderr, "{}", usage);
    return 2;
  }
  constexpr std::uint64_t gigabyte = 1000 * megabyte;
  io::SlabPool pool({.bytes_max = 512 * base::MiB});
  hashing::test::PropertyOptions options{.seed = seed, .bytes = amount * (is_small ? megabyte : gigabyte)};
  options.cards = hashing::cuda_cards({}, pool);
  fmt::print("seed {}, {}, {} instruction sets\n", seed, hashing::cuda_state().summary(),
             hashing::available_simd().size());
  std::fflush(stdout);
  std::uint64_t told = 0;
  options.progress = [&told](std::uint64_t bytes) {
    if (bytes / gigabyte == told) return;
    told = bytes / gigabyte;
    fmt::print(stderr, "{} GB\n", told);
  };
  hashing::test::PropertyCounts counts;
  const auto what = hashing::test::find_difference(std::move(options), counts);
  fmt::print("{} streams, {} bytes, {} chunks, {} jobs; engine: {} parts on workers, {} on cards\n",
             counts.streams, counts.bytes, counts.chunks, counts.jobs, counts.parts_worker,
             counts.parts_card);
  if (what) fmt::print("DIFFERENT: {}\n", *what);
  return what ? 1 : 0;
}
