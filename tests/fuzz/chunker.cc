// Any bytes in any pieces are cut by every instruction set, by the card's code on the host, and in parts that
// are joined, as the portable code cuts them whole, and get the ids of the portable hash. Input: a number of
// pieces with a length each, then a unit that is repeated to make the stream.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/assert.h"
#include "base/clock.h"
#include "hashing/card_batch.h"
#include "hashing/cpu_hasher.h"
#include "hashing/host/host_card.h"
#include "hashing/job_parts.h"

namespace {

using namespace braid::hashing;
using braid::base::Bytes;
using braid::base::BytesView;
using braid::base::check;

constexpr CardLimits limits{.slots = 1, .slot_bytes = 1 << 20, .streams_max = 4};
const Key key;

std::vector<Chunk> in_pieces(const ChunkParams& params, BytesView stream, BytesView plan, Simd simd) {
  const braid::base::SystemClock clock;
  CpuHasher hasher(clock, simd);
  std::vector<Chunk> out;
  std::size_t done = 0, end = 0;
  for (std::size_t i = 0; end < stream.size() || i == 0; ++i) {
    end = i < plan.size() ? std::min(stream.size(), end + 1 + 64 * std::to_integer<std::size_t>(plan[i]))
                          : stream.size();
    const Job job{.params = &params,
                  .key = key,
                  .spans = {stream.subspan(done, end - done)},
                  .stream_offset = done,
                  .is_end = end == stream.size()};
    const auto result = hasher.run(job);
    check(result.has_value(), "the job is right");
    out.insert(out.end(), result->chunks.begin(), result->chunks.end());
    done += result->consumed;
  }
  return out;
}

std::vector<Chunk> on_card(const ChunkParams& params, BytesView stream) {
  static HostCard card;
  static const bool open = card.open(limits).has_value();
  check(open, "the card opens");
  Task task;
  task.job = {.params = &params, .key = key, .spans = {stream}};
  task.bytes = stream.size();
  CardBatch batch(limits);
  check(batch.add(&task), "the job fits");
  check(card.start(0, batch.finish()).has_value(), "the card starts");
  ResultChecks checks(1);
  check(batch.read(card.records(0), checks), "the card's records are right");
  return task.result->chunks;
}

// Parts are at least a chunk's largest length, as the engine makes them.
std::vector<Chunk> in_parts(const ChunkParams& params, BytesView stream, std::size_t part_bytes) {
  const braid::base::SystemClock clock;
  CpuHasher hasher(clock);
  JobParts parts({.params = &params, .key = key, .spans = {stream}}, stream.size(), part_bytes);
  JobResult all;
  for (std::size_t i = 0; i < parts.count(); ++i) {
    const auto guess = hasher.run(parts.part(i));
    check(guess.has_value(), "the part is right");
    while (!parts.adopt(i, *guess, all) && parts.left_of(i) > 0) {
      const std::uint64_t bytes = std::min<std::uint64_t>(2 * params.sizes().max, parts.left_of(i));
      const auto stretch = hasher.run_until(parts.stretch(bytes), guess->chunks);
      check(stretch.has_value(), "the stretch is right");
      if (!parts.add(*stretch, all)) break;
    }
  }
  check(all.consumed == stream.size(), "everything is cut");
  return all.chunks;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const ChunkParams params = ChunkParams::by_content({4096, 8192, 20000}, key).value();
  if (size < 2) return 0;
  const BytesView input = std::as_bytes(std::span(data, size));
  const std::size_t pieces = std::min<std::size_t>(data[0], size - 2);
  const std::size_t repeats = 1 + data[1];
  const BytesView plan = input.subspan(2, pieces), unit = input.subspan(2 + pieces);
  Bytes stream;
  for (std::size_t i = 0; i < repeats && stream.size() + unit.size() < 200'000; ++i)
    stream.insert(stream.end(), unit.begin(), unit.end());
  const auto expected = in_pieces(params, stream, {}, Simd::portable);
  for (const Simd simd : available_simd())
    check(in_pieces(params, stream, plan, simd) == expected, "cut alike");
  check(on_card(params, stream) == expected, "the card cuts alike");
  check(in_parts(params, stream, params.sizes().max + 100 * pieces) == expected, "parts join to the same");
  return 0;
}
