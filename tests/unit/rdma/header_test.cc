#include "rdma/header.h"

#include <gtest/gtest.h>

#include "tests/unit/rdma/wire.h"

namespace braid::rdma {
namespace {

using test::bytes_of;
using test::segment;
using test::Wire;
using test::words;

class HeaderTest : public testing::Test {
 protected:
  HeaderVerdict decode(const base::Bytes& bytes) {
    message_ = test::payload_of(pool_, bytes);
    return decode_header(message_, arena_, header_);
  }
  template <class F>
  base::Bytes encoded(F encode_it) {
    xdr::Encoder out(cursor_);
    encode_it(out);
    return bytes_of(out.finish().bytes);
  }

  io::SlabPool pool_{{.bytes_max = 8 * io::region_bytes, .huge_pages = false}};
  io::SlabCursor cursor_{pool_};
  io::Payload message_;
  xdr::Arena arena_;
  Header header_;
};

TEST_F(HeaderTest, message_without_chunks) {
  ASSERT_EQ(decode(words({0x11, 1, 32, 0, 0, 0, 0, 0x11, 0})), HeaderVerdict::message);
  EXPECT_EQ(header_.xid, 0x11U);
  EXPECT_EQ(header_.credits, 32U);
  EXPECT_EQ(header_.proc, rdma_proc::RDMA_MSG);
  EXPECT_EQ(header_.body, 28U);
}

TEST_F(HeaderTest, chunk_lists_of_every_kind) {
  const base::Bytes bytes = Wire(7, 1, 1)
                                .read(0, segment(1, 100, 0x1'0000'0002))
                                .read(64, segment(2, 200, 3))
                                .write({segment(4, 5, 6), segment(7, 8, 9)})
                                .write({})
                                .reply({segment(10, 11, 12)})
                                .with();
  EXPECT_EQ(bytes, words({7, 1, 1,  1,                               // RDMA_NOMSG
                          1, 0, 1,  100, 1, 2, 1, 64, 2, 200, 0, 3,  // reads
                          0,                                         //
                          1, 2, 4,  5,   0, 6, 7, 8,  0, 9,          // write chunks
                          1, 0,                                      //
                          0,                                         //
                          1, 1, 10, 11,  0, 12}));                   // reply chunk
  ASSERT_EQ(decode(bytes), HeaderVerdict::message);
  ASSERT_EQ(header_.lists.rdma_reads.size(), 2U);
  EXPECT_EQ(header_.lists.rdma_reads[0].entry.target.offset, 0x1'0000'0002U);
  ASSERT_EQ(header_.lists.rdma_writes.size(), 2U);
  EXPECT_EQ(header_.lists.rdma_writes[0].entry.target[1].length, 8U);
  ASSERT_TRUE(header_.lists.rdma_reply.has_value());
  EXPECT_EQ(header_.body, bytes.size());
}

TEST_F(HeaderTest, another_version_is_told_so_even_if_the_rest_is_unknown) {
  EXPECT_EQ(decode(words({9, 2, 1, 77, 5, 6, 7})), HeaderVerdict::err_vers);
  EXPECT_EQ(header_.xid, 9U);
  EXPECT_EQ(header_.version, 2U);
}

TEST_F(HeaderTest, what_is_too_short_for_a_header_is_dropped) {
  EXPECT_EQ(decode({}), HeaderVerdict::ignored);
  EXPECT_EQ(decode(words({9, 1, 1})), HeaderVerdict::ignored);
  EXPECT_EQ(decode(words({9, 1, 1, 77, 0, 0})), HeaderVerdict::ignored);
  EXPECT_EQ(decode(words({9, 2, 1, 0, 0, 0})), HeaderVerdict::ignored);
}

TEST_F(HeaderTest, rdma_msgp_and_unknown_procedures_are_not_understood) {
  EXPECT_EQ(decode(words({9, 1, 1, 2, 0, 0, 0, 0, 0})), HeaderVerdict::err_chunk);
  EXPECT_EQ(decode(words({9, 1, 1, 5, 0, 0, 0})), HeaderVerdict::err_chunk);
}

TEST_F(HeaderTest, rdma_done_is_ignored) { EXPECT_EQ(decode(words({9, 1, 1, 3})), HeaderVerdict::ignored); }

TEST_F(HeaderTest, every_cut_through_the_lists_is_an_error_of_chunks_or_too_short) {
  const base::Bytes whole =
      Wire(7, 1, 1).read(0, segment(1, 100, 2)).write({segment(4, 5, 6)}).reply({segment(10, 11, 12)}).with();
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_EQ(decode(base::Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length))),
              length < plain_header_bytes ? HeaderVerdict::ignored : HeaderVerdict::err_chunk)
        << length;
}

TEST_F(HeaderTest, lists_end_at_their_limits) {
  Wire endless(7, 1, 0);
  for (std::uint32_t i = 0; i <= READ_SEGMENTS_MAX; ++i) endless.read(4, segment(1, 1, 1));
  EXPECT_EQ(decode(endless.with()), HeaderVerdict::err_chunk);
  Wire many(7, 1, 0);
  for (std::uint32_t i = 0; i <= WRITE_CHUNKS_MAX; ++i) many.write({});
  EXPECT_EQ(decode(many.with()), HeaderVerdict::err_chunk);
}

TEST_F(HeaderTest, absurd_counts_take_no_memory) {
  EXPECT_EQ(decode(words({7, 1, 1, 0, 0, 1, 0xffffffff})), HeaderVerdict::err_chunk);
  EXPECT_EQ(decode(words({7, 1, 1, 0, 0, 0, 1, 0x40000000})), HeaderVerdict::err_chunk);
  EXPECT_EQ(decode(words({7, 1, 1, 0, 2, 0, 0})), HeaderVerdict::err_chunk);  // neither TRUE nor FALSE
}

TEST_F(HeaderTest, errors_are_told_in_the_words_of_the_rfc) {
  EXPECT_EQ(encoded([](auto& out) { encode_error(out, 5, 9, 32, rpc_rdma_errcode::ERR_VERS); }),
            words({5, 9, 32, 4, 1, 1, 1}));
  EXPECT_EQ(encoded([](auto& out) { encode_error(out, 5, 1, 32, rpc_rdma_errcode::ERR_CHUNK); }),
            words({5, 1, 32, 4, 2}));
}

TEST_F(HeaderTest, errors_of_a_peer_are_read) {
  ASSERT_EQ(decode(words({5, 1, 32, 4, 1, 1, 3})), HeaderVerdict::error);
  ASSERT_NE(header_.error.range(), nullptr);
  EXPECT_EQ(header_.error.range()->rdma_vers_high, 3U);
  EXPECT_EQ(decode(words({5, 1, 32, 4, 2})), HeaderVerdict::error);
  EXPECT_EQ(decode(words({5, 1, 32, 4, 9})), HeaderVerdict::ignored);
}

TEST_F(HeaderTest, plain_header) {
  const base::Bytes bytes = encoded([](auto& out) { encode_plain_header(out, 3, 128); });
  EXPECT_EQ(bytes, words({3, 1, 128, 0, 0, 0, 0}));
  EXPECT_EQ(bytes.size(), plain_header_bytes);
}

TEST_F(HeaderTest, reply_returns_chunks_with_what_was_written) {
  const Segment first[] = {segment(1, 100, 0x1000), segment(2, 100, 0x2000), segment(3, 100, 0x3000)};
  const Segment second[] = {segment(4, 50, 0x4000)};
  const ReturnedChunk writes[] = {{first, 150}, {second, 0}};
  const ReplyHeader header{.xid = 8,
                           .credits = 9,
                           .proc = rdma_proc::RDMA_NOMSG,
                           .writes = writes,
                           .reply = ReturnedChunk{second, 44}};
  const base::Bytes bytes = encoded([&](auto& out) { encode(out, header); });
  EXPECT_EQ(bytes, words({8, 1, 9, 1,                                                  //
                          0,                                                           // no reads
                          1, 3, 1, 100, 0, 0x1000, 2, 50, 0, 0x2000, 3, 0, 0, 0x3000,  //
                          1, 1, 4, 0,   0, 0x4000,                                     //
                          0,                                                           //
                          1, 1, 4, 44,  0, 0x4000}));
  EXPECT_EQ(encoded_size(header), bytes.size());
}

}  // namespace
}  // namespace braid::rdma
