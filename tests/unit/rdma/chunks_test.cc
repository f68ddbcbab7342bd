#include "rdma/chunks.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/unit/rdma/wire.h"

namespace braid::rdma {
namespace {

using test::segment;
using test::Wire;

class ChunksTest : public testing::Test {
 protected:
  std::optional<ChunkError> parse(Wire& wire, std::uint64_t read_bytes_max = 1'000'000) {
    message_ = test::payload_of(pool_, wire.with());
    EXPECT_EQ(decode_header(message_, arena_, header_), HeaderVerdict::message);
    return chunks_.parse(header_.lists, {read_bytes_max});
  }
  std::optional<ChunkError> parse(Wire&& wire, std::uint64_t read_bytes_max = 1'000'000) {
    return parse(wire, read_bytes_max);
  }

  io::SlabPool pool_{{.bytes_max = 8 * io::region_bytes, .huge_pages = false}};
  io::Payload message_;
  xdr::Arena arena_;
  Header header_;
  Chunks chunks_;
};

TEST_F(ChunksTest, entries_of_one_position_are_one_chunk_wherever_they_stand) {
  ASSERT_FALSE(parse(
      Wire(1, 1, 0).read(80, segment(1, 10, 0)).read(40, segment(2, 20, 0)).read(80, segment(3, 30, 0))));
  ASSERT_EQ(chunks_.reads().size(), 2U);
  EXPECT_EQ(chunks_.reads()[0].position, 40U);
  EXPECT_EQ(chunks_.reads()[1].position, 80U);
  EXPECT_EQ(chunks_.reads()[1].bytes, 40U);
  EXPECT_EQ(chunks_.segments(chunks_.reads()[1])[0].key, RemoteKey(1));
  EXPECT_EQ(chunks_.segments(chunks_.reads()[1])[1].key, RemoteKey(3));
  EXPECT_FALSE(chunks_.call());
  EXPECT_EQ(chunks_.read_bytes(), 60U);
}

TEST_F(ChunksTest, position_zero_is_the_call_itself) {
  ASSERT_FALSE(
      parse(Wire(1, 1, 1).read(0, segment(1, 10, 0)).read(0, segment(1, 5, 64)).read(8, segment(1, 4, 99))));
  ASSERT_TRUE(chunks_.call());
  EXPECT_EQ(chunks_.call()->bytes, 15U);
  EXPECT_EQ(chunks_.reads().size(), 1U);
}

TEST_F(ChunksTest, write_chunks_keep_their_order_and_their_empty_segments) {
  ASSERT_FALSE(
      parse(Wire(1, 1, 0).write({segment(1, 10, 0), segment(2, 0, 0)}).write({}).reply({segment(3, 7, 0)})));
  ASSERT_EQ(chunks_.writes().size(), 2U);
  EXPECT_EQ(chunks_.writes()[0].count, 2U);
  EXPECT_EQ(chunks_.writes()[0].bytes, 10U);
  EXPECT_EQ(chunks_.writes()[1].count, 0U);
  ASSERT_TRUE(chunks_.reply());
  EXPECT_EQ(chunks_.reply()->bytes, 7U);
}

TEST_F(ChunksTest, read_segments_without_bytes_are_left_out) {
  ASSERT_FALSE(parse(Wire(1, 1, 0).read(8, segment(1, 0, 0))));
  EXPECT_TRUE(chunks_.reads().empty());
}

TEST_F(ChunksTest, more_than_a_message_may_hold_is_refused_before_there_is_memory_for_it) {
  EXPECT_FALSE(parse(Wire(1, 1, 0).read(8, segment(1, 60, 0)).read(80, segment(1, 40, 0)), 100));
  EXPECT_EQ(parse(Wire(1, 1, 0).read(8, segment(1, 60, 0)).read(80, segment(1, 41, 0)), 100),
            ChunkError::too_long);
  EXPECT_EQ(parse(Wire(1, 1, 0).read(8, segment(1, 0xffffffff, 0)).read(8, segment(1, 0xffffffff, 0))),
            ChunkError::too_long);
}

TEST_F(ChunksTest, write_chunks_of_4_GiB_are_as_good_as_others) {
  ASSERT_FALSE(parse(Wire(1, 1, 0).write({segment(1, 0xffffffff, 0), segment(1, 0xffffffff, 0)})));
  EXPECT_EQ(chunks_.writes()[0].bytes, 2 * std::uint64_t{0xffffffff});
}

TEST_F(ChunksTest, segments_past_the_end_of_the_address_space_are_refused) {
  EXPECT_EQ(parse(Wire(1, 1, 0).write({segment(1, 2, ~std::uint64_t{0})})), ChunkError::wrapped);
  EXPECT_EQ(parse(Wire(1, 1, 0).read(8, segment(1, 2, ~std::uint64_t{0}))), ChunkError::wrapped);
}

TEST_F(ChunksTest, positions_lie_between_xdr_items) {
  EXPECT_EQ(parse(Wire(1, 1, 0).read(9, segment(1, 2, 0))), ChunkError::misplaced);
}

TEST_F(ChunksTest, segments_of_all_chunks_together_are_bounded) {
  Wire wire(1, 1, 0);
  for (std::uint32_t i = 0; i < READ_SEGMENTS_MAX; ++i) wire.read(8, segment(1, 1, 1));
  for (std::uint32_t i = 0; i < WRITE_CHUNKS_MAX; ++i)
    wire.write(std::vector(Chunks::segments_max / WRITE_CHUNKS_MAX, segment(1, 1, 1)));
  EXPECT_EQ(parse(wire), ChunkError::too_long);
}

TEST_F(ChunksTest, a_key_may_be_invalidated_when_there_is_no_other) {
  ASSERT_FALSE(
      parse(Wire(1, 1, 0).read(8, segment(5, 4, 0)).write({segment(5, 4, 0)}).reply({segment(5, 4, 0)})));
  EXPECT_EQ(chunks_.sole_key(), RemoteKey(5));
  ASSERT_FALSE(parse(Wire(1, 1, 0).read(8, segment(5, 4, 0)).write({segment(6, 4, 0)})));
  EXPECT_EQ(chunks_.sole_key(), std::nullopt);
  ASSERT_FALSE(parse(Wire(1, 1, 0)));
  EXPECT_EQ(chunks_.sole_key(), std::nullopt);
}

}  // namespace
}  // namespace braid::rdma
