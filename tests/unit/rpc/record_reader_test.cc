#include "rpc/record_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/unit/rpc/bytes.h"

namespace braid::rpc {
namespace {

using base::Bytes;
using base::BytesView;
using test::append;
using test::fragment;
using test::record;

Bytes seeded(std::size_t size, unsigned seed = 1) {
  Bytes out(size);
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<std::byte>(i * 7 + seed);
  return out;
}

class RecordReaderTest : public testing::Test {
 protected:
  RecordReaderTest() : pool_({.bytes_max = 64 * base::MiB, .huge_pages = false}) {}

  // What a stream brings, and what ended it.
  struct Outcome {
    std::vector<Bytes> records;
    RecordReader::Next end = RecordReader::Next::incomplete;
    std::size_t ranges_max = 0;
  };

  // Feeds pieces of the stream, one behind the other in slabs as a socket would.
  Outcome feed(RecordReader& reader, const std::vector<BytesView>& pieces, bool park = false) {
    Outcome outcome;
    io::SlabRef slab;
    std::size_t used = 0;
    for (const BytesView piece : pieces) {
      if (!slab || used + piece.size() + reader.parked_bytes() > slab.bytes()) {
        slab = pool_.acquire(io::SlabSize::large).value();
        used = 0;
      }
      const auto parked = static_cast<std::uint32_t>(reader.parked_bytes());
      reader.unpark({slab, static_cast<std::uint32_t>(used), parked});
      used += parked;
      io::SlabRange input{slab, static_cast<std::uint32_t>(used), static_cast<std::uint32_t>(piece.size())};
      std::ranges::copy(piece, input.writable().begin());
      used += piece.size();
      if (!take_all(reader, input, outcome)) return outcome;
      if (park && reader.held_bytes() <= RecordReader::park_bytes_max) reader.park();
    }
    return outcome;
  }
  bool take_all(RecordReader& reader, io::SlabRange& input, Outcome& outcome) {
    for (;;) {
      io::Payload got;
      outcome.end = reader.next(input, got);
      if (outcome.end == RecordReader::Next::incomplete) {
        EXPECT_EQ(input.length, 0U);
        return true;
      }
      if (outcome.end != RecordReader::Next::record) return false;
      outcome.ranges_max = std::max(outcome.ranges_max, got.ranges().size());
      outcome.records.push_back(test::bytes_of(got));
    }
  }

  io::SlabPool pool_;
  const RecordLimits limits_{.record_bytes_max = 100'000};
};

TEST_F(RecordReaderTest, every_split_of_a_stream_gives_the_same_records) {
  const Bytes first = seeded(24);
  const Bytes second = seeded(40, 9);
  Bytes stream = fragment(BytesView(first).first(5), false);
  append(stream, fragment({}, false));
  append(stream, fragment(BytesView(first).subspan(5, 12), false));
  append(stream, fragment(BytesView(first).subspan(17), true));
  append(stream, record(second));
  const BytesView all = stream;
  for (std::size_t a = 0; a <= all.size(); ++a) {
    for (std::size_t b = a; b <= all.size(); ++b) {
      for (const bool park : {false, true}) {
        RecordReader reader(limits_);
        const Outcome outcome = feed(reader, {all.first(a), all.subspan(a, b - a), all.subspan(b)}, park);
        ASSERT_EQ(outcome.records, (std::vector<Bytes>{first, second})) << a << ' ' << b << ' ' << park;
        ASSERT_FALSE(reader.partial());
      }
    }
  }
}

TEST_F(RecordReaderTest, bytes_arrive_one_by_one) {
  const Bytes body = seeded(700);
  Bytes stream;
  for (std::size_t at = 0; at < body.size(); at += 10)
    append(stream, fragment(BytesView(body).subspan(at, 10), at + 10 == body.size()));
  std::vector<BytesView> pieces;
  for (std::size_t i = 0; i < stream.size(); ++i) pieces.push_back(BytesView(stream).subspan(i, 1));
  for (const bool park : {false, true}) {
    RecordReader reader(limits_);
    const Outcome outcome = feed(reader, pieces, park);
    ASSERT_EQ(outcome.records, std::vector<Bytes>{body});
  }
}

TEST_F(RecordReaderTest, whole_records_are_taken_in_place) {
  RecordReader reader(limits_);
  const Bytes body = seeded(1000);
  Bytes stream = record(body);
  append(stream, record(body));
  io::SlabRange input{pool_.acquire(io::SlabSize::small).value(), 0,
                      static_cast<std::uint32_t>(stream.size())};
  std::ranges::copy(stream, input.writable().begin());
  const std::byte* start = input.memory().value().data();
  io::Payload got;
  ASSERT_EQ(reader.next(input, got), RecordReader::Next::record);
  EXPECT_EQ(got.ranges().front().memory().value().data(), start + 4);
  io::Payload next;
  ASSERT_EQ(reader.next(input, next), RecordReader::Next::record);
  EXPECT_EQ(next.ranges().front().memory().value().data(), start + 1008);
}

TEST_F(RecordReaderTest, many_small_fragments_become_one_range) {
  RecordReader reader(limits_);
  const Bytes body = seeded(60'000);
  Bytes stream;
  for (std::size_t at = 0; at < body.size(); at += 3)
    append(stream, fragment(BytesView(body).subspan(at, 3), at + 3 == body.size()));
  std::vector<BytesView> pieces;
  for (std::size_t at = 0; at < stream.size(); at += 8191)
    pieces.push_back(BytesView(stream).subspan(at, std::min<std::size_t>(8191, stream.size() - at)));
  const Outcome outcome = feed(reader, pieces);
  ASSERT_EQ(outcome.records, std::vector<Bytes>{body});
  EXPECT_EQ(outcome.ranges_max, 1U);
}

TEST_F(RecordReaderTest, a_long_record_is_one_range_per_slab) {
  RecordReader reader(RecordLimits{.record_bytes_max = 4 * base::MiB});
  const Bytes body = seeded(3 * base::MiB);
  const Bytes stream = record(body);
  std::vector<BytesView> pieces;
  for (std::size_t at = 0; at < stream.size(); at += 65536)
    pieces.push_back(BytesView(stream).subspan(at, std::min<std::size_t>(65536, stream.size() - at)));
  const Outcome outcome = feed(reader, pieces);
  ASSERT_EQ(outcome.records, std::vector<Bytes>{body});
  EXPECT_LE(outcome.ranges_max, 4U);
}

TEST_F(RecordReaderTest, the_largest_record_is_taken) {
  RecordReader reader(RecordLimits{.record_bytes_max = 100});
  const Bytes body = seeded(100);
  EXPECT_EQ(feed(reader, {record(body)}).records, std::vector<Bytes>{body});
}

TEST_F(RecordReaderTest, a_record_above_the_limit_is_refused_at_its_mark) {
  for (const std::uint32_t mark : {0x8000'0065U, 0x0000'0065U, 0xffff'ffffU, 0x7fff'ffffU, 0xffff'fff0U}) {
    RecordReader reader(RecordLimits{.record_bytes_max = 100});
    const Bytes stream = test::words({mark});
    EXPECT_EQ(feed(reader, {stream}).end, RecordReader::Next::too_long) << std::hex << mark;
    EXPECT_EQ(reader.held_bytes(), 0U);
  }
}

TEST_F(RecordReaderTest, the_limit_counts_all_fragments) {
  RecordReader reader(RecordLimits{.record_bytes_max = 100});
  Bytes stream = fragment(seeded(60), false);
  append(stream, fragment(seeded(41), true));
  EXPECT_EQ(feed(reader, {stream}).end, RecordReader::Next::too_long);
}

TEST_F(RecordReaderTest, an_endless_row_of_empty_fragments_is_refused) {
  RecordReader reader(limits_);
  Bytes stream;
  for (int i = 0; i < 1000; ++i) append(stream, fragment({}, false));
  EXPECT_EQ(feed(reader, {stream}).end, RecordReader::Next::endless);
}

TEST_F(RecordReaderTest, some_empty_fragments_are_taken) {
  RecordReader reader(limits_);
  const Bytes body = seeded(8);
  Bytes stream;
  for (std::uint32_t i = 0; i < limits_.empty_fragments_max; ++i) append(stream, fragment({}, false));
  append(stream, fragment(body, true));
  append(stream, record(body));  // the count starts anew
  EXPECT_EQ(feed(reader, {stream}).records, (std::vector<Bytes>{body, body}));
}

TEST_F(RecordReaderTest, a_record_without_bytes_is_a_record) {
  RecordReader reader(limits_);
  EXPECT_EQ(feed(reader, {record({})}).records, std::vector<Bytes>{Bytes{}});
}

TEST_F(RecordReaderTest, a_parked_record_holds_no_slab) {
  RecordReader reader(limits_);
  const Bytes body = seeded(500);
  const Bytes stream = record(body);
  feed(reader, {BytesView(stream).first(300)}, true);
  EXPECT_EQ(pool_.stats().bytes_used, 0U);
  EXPECT_TRUE(reader.partial());
  EXPECT_EQ(reader.fragment_remaining(), 204U);
  EXPECT_EQ(feed(reader, {BytesView(stream).subspan(300)}).records, std::vector<Bytes>{body});
}

}  // namespace
}  // namespace braid::rpc
