// Boundaries: the definition of docs/hashing.md, the same cuts on every instruction set and for every split
// of a stream.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <algorithm>
#include <vector>

#include "hashing/chunker.h"
#include "hashing/cpu_hasher.h"
#include "hashing/sliding_job.h"
#include "hashing/sliding_window.h"
#include "hashing/tree_hash.h"
#include "tests/unit/hashing/random_data.h"

namespace braid::hashing {
namespace {

using testing::Each;
using testing::Le;

Key key_of(int seed) { return Key::from(test::random_bytes(32, static_cast<std::uint64_t>(seed))).value(); }

ChunkParams small_params(const Key& key) {
  return ChunkParams::by_content({4096, 16384, 65536}, key).value();
}

// The sums as the document writes them, for one position.
bool accepted_by_definition(const GearTables& t, base::BytesView data, std::size_t p, GearMask mask) {
  std::uint32_t h16 = 0, h32 = 0;
  for (std::size_t i = 0; i < 32; ++i) {
    const auto b = std::to_integer<std::size_t>(data[p - i]);
    if (i < 16) h16 += std::uint32_t{t.g16[b]} << i;
    h32 += t.g32[b] << i;
  }
  return (h16 & mask.prefilter) == 0 && (h32 & mask.verify) == 0;
}

std::vector<std::size_t> all_accepted(GearScan scan, const GearTables& t, base::BytesView data,
                                      GearMask mask) {
  std::vector<std::size_t> out;
  for (std::size_t p = 31; p < data.size(); ++p) {
    p = scan(t, data.data(), p, data.size(), mask);
    if (p < data.size()) out.push_back(p);
  }
  return out;
}

TEST(GearScan, finds_what_the_definition_accepts_on_every_level) {
  const GearTables tables = GearTables::from(key_of(1));
  const base::Bytes data = test::random_bytes(200'003, 2);
  for (const GearMask mask :
       {GearMask{0xfff0, 0}, GearMask{0xff00, 0x80000000}, GearMask{0xc000, 0}, GearMask{0, 0xf0000000}}) {
    std::vector<std::size_t> expected;
    for (std::size_t p = 31; p < data.size(); ++p)
      if (accepted_by_definition(tables, data, p, mask)) expected.push_back(p);
    ASSERT_FALSE(expected.empty());
    for (const Simd simd : available_simd())
      EXPECT_EQ(all_accepted(gear_scan(simd), tables, data, mask), expected) << name_of(simd);
  }
}

TEST(GearScan, does_not_depend_on_where_a_scan_begins_or_ends) {
  const GearTables tables = GearTables::from(key_of(3));
  const base::Bytes data = test::random_bytes(3000, 4);
  const GearMask mask{0xf800, 0};
  const auto expected = all_accepted(gear_scan(Simd::portable), tables, data, mask);
  for (const Simd simd : available_simd())
    for (std::size_t begin = 31; begin < 300; ++begin)
      for (const std::size_t end :
           {begin, begin + 1, begin + 63, begin + 64, begin + 65, std::size_t{3000}}) {
        const auto next = std::ranges::lower_bound(expected, begin);
        const std::size_t want = next == expected.end() ? end : std::min(*next, end);
        ASSERT_EQ(gear_scan(simd)(tables, data.data(), begin, end, mask), want)
            << name_of(simd) << begin << ' ' << end;
      }
}

TEST(GearTables, whose_constant_byte_runs_pass_the_prefilter_are_rejected) {
  unsigned rejected = 0;
  for (int seed = 0; seed < 64; ++seed) {
    const Key key = key_of(1000 + seed);
    const GearTables tables = GearTables::from(key);
    EXPECT_FALSE(tables.passes_constant_runs(GearTables::prefilter_bits_min));
    for (unsigned i = 0; i < tables.attempt; ++i)
      EXPECT_TRUE(GearTables::candidate(key, i).passes_constant_runs(GearTables::prefilter_bits_min));
    rejected += tables.attempt;
    for (int byte = 0; byte < 256; ++byte) {
      const base::Bytes run(64, static_cast<std::byte>(byte));
      ASSERT_FALSE(accepted_by_definition(tables, run, 63, GearMask{0xffc0, 0})) << seed << ' ' << byte;
    }
  }
  EXPECT_GT(rejected, 0u);
}

std::vector<std::uint32_t> lengths_of(const ChunkParams& params, base::BytesView stream, Simd simd) {
  std::vector<std::uint32_t> out;
  const Chunker chunker(params, simd);
  std::uint64_t at = 0;
  while (const auto cut = chunker.next(stream.subspan(at), at, true)) {
    out.push_back(cut->length);
    at += cut->length;
  }
  EXPECT_EQ(at, stream.size());
  return out;
}

// The selection rule of the document, from the definition of single positions.
std::vector<std::uint32_t> lengths_by_definition(const ChunkParams& params, base::BytesView stream) {
  std::vector<std::uint32_t> out;
  const auto [min, avg, max] = params.sizes();
  std::size_t s = 0;
  while (s < stream.size()) {
    std::size_t end = std::min<std::size_t>(s + max, stream.size());
    for (std::size_t p = s + min; p < end; ++p) {
      if (!accepted_by_definition(params.tables(), stream, p, p < s + avg ? params.strict() : params.loose()))
        continue;
      end = p + 1;
      break;
    }
    out.push_back(static_cast<std::uint32_t>(end - s));
    s = end;
  }
  return out;
}

std::vector<base::Bytes> streams() {
  std::vector<base::Bytes> out{
      {}, base::Bytes(1), base::Bytes(300'000), base::Bytes(300'000, std::byte{0xff})};
  out.push_back(test::random_bytes(1'000'000, 21));
  base::Bytes text;
  for (int i = 0; text.size() < 400'000; ++i)
    for (const char c : "line " + std::to_string(i * 7919 % 1000) + " of a text\n")
      text.push_back(static_cast<std::byte>(c));
  out.push_back(text);
  for (const std::size_t period :
       std::initializer_list<std::size_t>{16, 32, 33, 4096}) {  // periodic data, also of the windows' lengths
    const base::Bytes unit = test::random_bytes(period, period);
    base::Bytes periodic;
    while (periodic.size() < 300'000) periodic.insert(periodic.end(), unit.begin(), unit.end());
    out.push_back(periodic);
  }
  return out;
}

TEST(Chunker, cuts_as_the_definition_says_on_every_level) {
  for (const ChunkParams& params :
       {small_params(key_of(5)), ChunkParams::by_content({4096, 8192, 12289}, key_of(6)).value()})
    for (const base::Bytes& stream : streams()) {
      const auto expected = lengths_by_definition(params, stream);
      for (const Simd simd : available_simd())
        ASSERT_EQ(lengths_of(params, stream, simd), expected) << name_of(simd);
    }
}

// A repeated unit that makes every one of its positions a candidate of the prefilter cannot be had by
// constant bytes; this one has as many as random search finds.
TEST(Chunker, data_made_of_candidates_is_cut_alike_on_every_level) {
  const ChunkParams params = small_params(key_of(7));
  const GearTables& t = params.tables();
  base::Bytes stream;
  std::mt19937_64 random(8);
  while (stream.size() < 200'000) {
    const auto before = stream.size();
    stream.resize(before + 32);
    std::uint32_t best = 0xffff;
    base::Bytes unit = test::random_bytes(32, random()), chosen = unit;
    for (int i = 0; i < 500; ++i) {
      unit[31] = static_cast<std::byte>(random());
      unit[30] = static_cast<std::byte>(random());
      std::uint32_t h = 0;
      for (const std::byte b : unit) h = (h << 1) + t.g16[std::to_integer<std::size_t>(b)];
      if ((h & 0xffff) < best) {
        best = h & 0xffff;
        chosen = unit;
      }
    }
    std::ranges::copy(chosen, stream.begin() + static_cast<std::ptrdiff_t>(before));
  }
  const auto expected = lengths_by_definition(params, stream);
  EXPECT_GT(all_accepted(gear_scan(Simd::portable), t, stream, {params.loose().prefilter, 0}).size(), 200u);
  for (const Simd simd : available_simd())
    EXPECT_EQ(lengths_of(params, stream, simd), expected) << name_of(simd);
}

TEST(Chunker, keeps_the_limits_of_every_profile) {
  const base::Bytes stream = test::random_bytes(20 << 20, 30);
  for (const Profile profile : all_profiles) {
    const ChunkParams params = ChunkParams::of(profile, key_of(9));
    auto lengths = lengths_of(params, stream, best_simd());
    EXPECT_THAT(lengths, Each(Le(params.sizes().max))) << name_of(profile);
    lengths.pop_back();
    for (const auto length : lengths) ASSERT_GE(length, params.sizes().min) << name_of(profile);
    EXPECT_EQ(parse_profile(name_of(profile)), profile);
  }
}

TEST(Chunker, aligns_fixed_blocks_in_the_file) {
  const ChunkParams params = ChunkParams::fixed(4096).value();
  const base::Bytes data(10'000);
  const Chunker chunker(params);
  EXPECT_EQ(chunker.next(data, 0, false)->length, 4096u);
  EXPECT_EQ(chunker.next(data, 4095, false)->length, 1u);
  EXPECT_EQ(chunker.next(data, 100, false)->length, 3996u);
  EXPECT_FALSE(chunker.next(base::BytesView(data).first(3995), 100, false).has_value());
  EXPECT_EQ(chunker.next(base::BytesView(data).first(3995), 100, true)->reason, CutReason::end);
}

TEST(ChunkParams, outside_their_limits_are_refused) {
  const Key key;
  for (const ChunkSizes sizes :
       {ChunkSizes{65536, 16384, 4096}, ChunkSizes{16384, 16384, 65536}, ChunkSizes{4096, 16000, 65536},
        ChunkSizes{2048, 16384, 65536}, ChunkSizes{4096, 16384, 8 << 20}, ChunkSizes{4096, 65536, 65536},
        ChunkSizes{0, 0, 0}})
    EXPECT_EQ(ChunkParams::by_content(sizes, key).error(), base::errno_of(EINVAL)) << sizes.avg;
  for (const std::uint32_t block : {0U, 1U, 2048U, 5000U, 8U << 20})
    EXPECT_EQ(ChunkParams::fixed(block).error(), base::errno_of(EINVAL)) << block;
}

JobResult run(CpuHasher& hasher, const Job& job) {
  auto result = hasher.run(job);
  EXPECT_TRUE(result.has_value());
  return result ? std::move(*result) : JobResult{};
}

// Jobs up to `job_max` bytes, of spans up to `span_max`: the chunks of them all.
std::vector<Chunk> in_jobs(CpuHasher& hasher, const ChunkParams& params, const Key& key,
                           base::BytesView stream, std::size_t job_max, std::size_t span_max,
                           std::mt19937_64& random) {
  std::vector<Chunk> out;
  std::size_t done = 0, end = 0;
  while (end < stream.size()) {
    end = std::min(stream.size(), end + 1 + random() % job_max);
    Job job{.params = &params, .key = key, .stream_offset = done, .is_end = end == stream.size()};
    for (std::size_t at = done; at < end;) {
      const std::size_t take = std::min<std::size_t>(end - at, random() % span_max);
      job.spans.push_back(stream.subspan(at, take));
      at += take;
    }
    const JobResult part = run(hasher, job);
    out.insert(out.end(), part.chunks.begin(), part.chunks.end());
    done += part.consumed;
  }
  return out;
}

// Short spans are cut as one; long ones where they lie, but for the chunks over their ends.
TEST(CpuHasher, any_split_of_a_stream_into_jobs_and_spans_gives_the_same_chunks) {
  const base::SystemClock clock;
  CpuHasher hasher(clock);
  std::mt19937_64 random(12);
  const Key key = key_of(10);
  const ChunkParams params = small_params(key), fixed = ChunkParams::fixed(16384).value();
  for (const base::Bytes& stream : streams())
    for (const ChunkParams* p : {&params, &fixed}) {
      const JobResult expected = run(hasher, {.params = p, .key = key, .spans = {stream}});
      ASSERT_EQ(expected.consumed, stream.size());
      for (int round = 0; round < 3; ++round) {
        ASSERT_EQ(in_jobs(hasher, *p, key, stream, 100'000, 20'000, random), expected.chunks);
        ASSERT_EQ(in_jobs(hasher, *p, key, stream, 1'500'000, 600'000, random), expected.chunks);
      }
    }
}

TEST(CpuHasher, says_which_chunks_are_zero_and_why_they_end) {
  const base::SystemClock clock;
  CpuHasher hasher(clock);
  const ChunkParams params = small_params(key_of(11));
  const base::Bytes zeros(65536 + 10);
  const JobResult result = run(hasher, {.params = &params, .spans = {zeros}});
  ASSERT_EQ(result.chunks.size(), 2u);
  EXPECT_EQ(result.chunks[0].flags, zero_chunk | forced_chunk);
  EXPECT_EQ(result.chunks[1].flags, zero_chunk | tail_chunk);
}

TEST(SlidingWindow, ends_chunks_where_the_windows_md5_has_zero_bits) {
  const base::Bytes data = test::random_bytes(20'000, 13);
  const SlidingWindow parameters{.window = 20, .step = 3, .zero_bits = 6};
  std::vector<std::uint64_t> expected;
  for (std::size_t begin = 0; begin + 20 <= data.size(); begin += 3) {
    std::array<unsigned char, 16> md5;
    EVP_Digest(data.data() + begin, 20, md5.data(), nullptr, EVP_md5(), nullptr);
    if ((md5[0] & 63) == 0) expected.push_back(begin + 20);
  }
  EXPECT_EQ(sliding_cuts(parameters, data).value(), expected);
  ASSERT_GT(expected.size(), 50u);
  for (const SlidingWindow wrong :
       {SlidingWindow{0, 1, 14}, SlidingWindow{56, 1, 14}, SlidingWindow{20, 0, 14}, SlidingWindow{20, 1, 0},
        SlidingWindow{20, 1, 33}})
    EXPECT_EQ(sliding_cuts(wrong, data).error(), base::errno_of(EINVAL));
}

// Windows that end 4096 to 32768 bytes behind the start; one in 8192 qualifies.
const ChunkParams& sliding_params() {
  static const ChunkParams params = ChunkParams::by_content({4096, 8192, 32768}, key_of(14)).value();
  return params;
}

std::vector<Chunk> sliding_chunks_by_definition(base::BytesView data) {
  std::vector<Chunk> out;
  const std::vector<std::uint64_t> cuts = sliding_cuts({.zero_bits = 13}, data).value();
  for (std::uint64_t begin = 0; begin < data.size();) {
    const auto cut = std::ranges::lower_bound(cuts, begin + 4096);
    const std::uint64_t most = std::min<std::uint64_t>(begin + 32768, data.size());
    Chunk chunk{.offset = begin};
    std::uint64_t end = most;
    if (cut != cuts.end() && *cut <= most)
      end = *cut;
    else
      chunk.flags = end - begin == 32768 ? forced_chunk : tail_chunk;
    chunk.length = static_cast<std::uint32_t>(end - begin);
    const base::BytesView bytes = data.subspan(begin, end - begin);
    if (is_zero(bytes)) chunk.flags |= zero_chunk;
    chunk.id = md5_tree(bytes).value();
    out.push_back(chunk);
    begin = end;
  }
  return out;
}

TEST(SlidingWindow, cuts_a_job_whatever_pieces_it_comes_in) {
  base::Bytes data = test::random_bytes(900'000, 15);
  std::fill_n(data.begin() + 300'000, 150'000, std::byte{0});
  const std::vector<Chunk> expected = sliding_chunks_by_definition(data);
  const base::BytesView all = data;
  Job job{.params = &sliding_params(), .spans = {all}};
  EXPECT_EQ(run_sliding(job)->chunks, expected);
  job.spans = {all.first(5), all.subspan(5, 0), all.subspan(5, 70'000), all.subspan(70'005)};
  EXPECT_EQ(run_sliding(job)->chunks, expected);
  for (const std::uint32_t flag : {std::uint32_t{forced_chunk}, std::uint32_t{zero_chunk | forced_chunk},
                                   std::uint32_t{tail_chunk}, std::uint32_t{0}})
    EXPECT_NE(std::ranges::find(expected, flag, &Chunk::flags), expected.end()) << flag;
  std::vector<Chunk> chunks;
  std::size_t at = 0;
  for (std::size_t end = 40'000; at < data.size(); end += 40'000) {
    const std::size_t there = std::min(end, data.size());
    const auto done = run_sliding({.params = &sliding_params(),
                                   .spans = {all.subspan(at, there - at)},
                                   .stream_offset = at,
                                   .is_end = there == data.size()});
    ASSERT_TRUE(done);
    chunks.insert(chunks.end(), done->chunks.begin(), done->chunks.end());
    at += done->consumed;
  }
  EXPECT_EQ(chunks, expected);
}

TEST(SlidingWindow, refuses_jobs_that_are_not_to_be_cut_by_content) {
  const base::Bytes data(10'000);
  const ChunkParams fixed = ChunkParams::fixed(4096).value();
  for (const ChunkParams* const wrong : {static_cast<const ChunkParams*>(nullptr), &fixed})
    EXPECT_EQ(run_sliding({.params = wrong, .spans = {data}}).error(), base::errno_of(EINVAL));
}

}  // namespace
}  // namespace braid::hashing
