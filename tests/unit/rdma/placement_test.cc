#include "rdma/placement.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/rdma/wire.h"

namespace braid::rdma {
namespace {

using test::segment;

class PlacementTest : public testing::Test {
 protected:
  static constexpr std::size_t inline_max = 256;

  void offer(test::Wire wire) {
    const base::Bytes bytes = wire.with();
    const io::Payload message = rpc::test::payload_of(pool_, bytes);
    xdr::Arena arena;
    Header header;
    ASSERT_EQ(decode_header(message, arena, header), HeaderVerdict::message);
    ASSERT_FALSE(chunks_.parse(header.lists, {1'000'000}));
  }
  // "head", then per text a word that says where it begins, its bytes as an eligible item, and a word.
  xdr::Message message(const std::vector<std::string_view>& items) {
    xdr::Encoder out(cursor_);
    out.u32(0x68656164);
    for (const std::string_view item : items) {
      out.ddp_payload(item.empty() ? io::Payload() : rpc::test::payload_of(pool_, base::bytes_of(item)));
      out.u32(0x7461696c);
    }
    return out.finish();
  }
  static std::string text(const io::Payload& payload) {
    return std::string(base::text_of(rpc::test::bytes_of(payload)));
  }
  // address=data of each write
  std::string written() {
    std::string all;
    for (const RemoteWrite& write : placement_.writes())
      all += std::to_string(write.address) + "=" + text(write.data) + " ";
    return all;
  }

  io::SlabPool pool_{{.bytes_max = 8 * io::region_bytes, .huge_pages = false}};
  io::SlabCursor cursor_{pool_};
  Chunks chunks_;
  Placement placement_;
};

using namespace std::literals;

TEST_F(PlacementTest, without_chunks_all_is_inline) {
  EXPECT_FALSE(placement_.place(message({"abcde"}), chunks_, inline_max));
  EXPECT_EQ(placement_.header(1, 2).proc, rdma_proc::RDMA_MSG);
  EXPECT_EQ(text(placement_.inline_part()), "head\0\0\0\5abcde\0\0\0tail"sv);
  EXPECT_TRUE(placement_.writes().empty());
}

TEST_F(PlacementTest, an_item_goes_to_the_write_chunk_and_its_padding_nowhere) {
  offer(test::Wire(1, 1, 0).write({segment(1, 3, 100), segment(2, 0, 150), segment(3, 10, 200)}));
  EXPECT_FALSE(placement_.place(message({"abcde"}), chunks_, inline_max));
  EXPECT_EQ(text(placement_.inline_part()), "head\0\0\0\5tail"sv);
  EXPECT_EQ(written(), "100=abc 200=de ");
  ASSERT_EQ(placement_.header(1, 2).writes.size(), 1U);
  EXPECT_EQ(placement_.header(1, 2).writes[0].bytes_written, 5U);
}

TEST_F(PlacementTest, items_take_the_chunks_in_their_order_and_an_empty_one_takes_its_own) {
  offer(test::Wire(1, 1, 0)
            .write({segment(1, 9, 100)})
            .write({segment(2, 9, 200)})
            .write({segment(3, 9, 300)}));
  EXPECT_FALSE(placement_.place(message({"abcd", "", "efgh"}), chunks_, inline_max));
  EXPECT_EQ(written(), "100=abcd 300=efgh ");
  EXPECT_EQ(placement_.header(1, 2).writes[1].bytes_written, 0U);
}

TEST_F(PlacementTest, items_without_a_chunk_stay_inline_and_chunks_without_an_item_come_back_empty) {
  offer(test::Wire(1, 1, 0).write({segment(1, 9, 100)}));
  EXPECT_FALSE(placement_.place(message({"abcd", "efgh"}), chunks_, inline_max));
  EXPECT_EQ(text(placement_.inline_part()), "head\0\0\0\4tail\0\0\0\4efghtail"sv);
  EXPECT_FALSE(placement_.place(message({}), chunks_, inline_max));
  EXPECT_EQ(placement_.header(1, 2).writes[0].bytes_written, 0U);
  EXPECT_EQ(written(), "");
}

TEST_F(PlacementTest, a_write_chunk_that_is_too_small_is_an_error_not_a_cut) {
  offer(test::Wire(1, 1, 0).write({segment(1, 3, 100)}));
  EXPECT_EQ(placement_.place(message({"abcd"}), chunks_, inline_max), PlacementError::write_chunk_too_small);
}

TEST_F(PlacementTest, a_long_reply_goes_to_the_reply_chunk) {
  offer(test::Wire(1, 1, 0).reply({segment(1, 300, 100), segment(2, 300, 5000)}));
  const std::string item(400, 'x');
  EXPECT_FALSE(placement_.place(message({item}), chunks_, inline_max));
  const ReplyHeader header = placement_.header(1, 2);
  EXPECT_EQ(header.proc, rdma_proc::RDMA_NOMSG);
  EXPECT_EQ(header.reply->bytes_written, 412U);
  EXPECT_TRUE(placement_.inline_part().empty());
  EXPECT_EQ(written(),
            "100=head\0\0\1\x90"s + std::string(292, 'x') + " 5000=" + std::string(108, 'x') + "tail ");
}

TEST_F(PlacementTest, a_short_reply_leaves_the_reply_chunk_alone) {
  offer(test::Wire(1, 1, 0).reply({segment(1, 300, 100)}));
  EXPECT_FALSE(placement_.place(message({"abcd"}), chunks_, inline_max));
  EXPECT_EQ(placement_.header(1, 2).proc, rdma_proc::RDMA_MSG);
  EXPECT_EQ(placement_.header(1, 2).reply->bytes_written, 0U);
}

TEST_F(PlacementTest, write_chunks_come_first_and_the_reply_chunk_takes_the_rest) {
  offer(test::Wire(1, 1, 0).write({segment(1, 500, 100)}).reply({segment(2, 500, 9000)}));
  const std::string first(300, 'x');
  const std::string second(300, 'y');
  EXPECT_FALSE(placement_.place(message({first, second}), chunks_, inline_max));
  EXPECT_EQ(placement_.header(1, 2).proc, rdma_proc::RDMA_NOMSG);
  EXPECT_EQ(written(), "100=" + first + " 9000=head\0\0\1\x2ctail\0\0\1\x2c"s + second + "tail ");
}

TEST_F(PlacementTest, a_long_reply_without_a_chunk_that_holds_it_cannot_be_sent) {
  const std::string item(400, 'x');
  EXPECT_EQ(placement_.place(message({item}), chunks_, inline_max), PlacementError::reply_too_long);
  offer(test::Wire(1, 1, 0).reply({segment(1, 411, 100)}));
  EXPECT_EQ(placement_.place(message({item}), chunks_, inline_max), PlacementError::reply_too_long);
}

TEST_F(PlacementTest, header_and_message_share_the_inline_threshold) {
  const std::string item(inline_max - plain_header_bytes - 12, 'x');
  EXPECT_FALSE(placement_.place(message({item}), chunks_, inline_max));
  EXPECT_EQ(placement_.place(message({item + "x"}), chunks_, inline_max), PlacementError::reply_too_long);
}

}  // namespace
}  // namespace braid::rdma
