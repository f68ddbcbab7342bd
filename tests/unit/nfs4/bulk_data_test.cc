#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "tests/unit/nfs4/support/request.h"
#include "tests/unit/nfs4/support/world.h"

namespace braid::nfs4::test {
namespace {

using enum nfs_opnum4;

class BulkDataTest : public testing::Test {
 protected:
  // What is known of the data of a COMPOUND of which `bytes` have come; `at` is where it begins.
  std::optional<std::uint32_t> data_of(const Request& request, std::size_t bytes = 256) {
    const io::Payload whole = request.encoded();
    const io::Payload head = whole.slice(0, std::min(bytes, whole.size()));
    xdr::Arena arena;
    xdr::Decoder in(head, arena);
    const auto& procedure = world_.engine().program().versions.front().procedures[1];
    const auto found = procedure.bulk(in);
    if (found) after_data_ = whole.size() - in.position();
    return found;
  }
  io::Payload data(std::uint32_t bytes) {
    io::SlabRange range{test_slabs().acquire(io::SlabSize::large).value(), 0, bytes};
    return io::Payload(std::move(range));
  }

  static constexpr std::uint32_t length = 200'000;
  World world_;
  WRITE4args write_{
      .stateid = anonymous(), .offset = 5, .stable = stable_how4::UNSTABLE4, .data = data(length)};
  std::size_t after_data_ = 0;  // bytes from the beginning of the data on
};

TEST_F(BulkDataTest, a_write_behind_putfh_is_found_with_and_without_a_session) {
  EXPECT_EQ(data_of(Request(0).add(OP_PUTFH, PUTFH4args{}).add(OP_WRITE, write_)), length);
  EXPECT_EQ(after_data_, length);
  Request in_session(1);
  in_session.add(OP_SEQUENCE, SEQUENCE4args{}).add(OP_PUTFH, PUTFH4args{}).add(OP_WRITE, write_);
  in_session.add(OP_GETATTR, GETATTR4args{});
  EXPECT_EQ(data_of(in_session), length);
  EXPECT_EQ(after_data_, length + 8);
}

TEST_F(BulkDataTest, anything_else_before_the_write_leaves_it_in_memory) {
  EXPECT_FALSE(data_of(Request(0).add(OP_PUTROOTFH).add(OP_WRITE, write_)));
  EXPECT_FALSE(data_of(Request(0).add(OP_PUTFH, PUTFH4args{}).add(OP_SAVEFH).add(OP_WRITE, write_)));
  EXPECT_FALSE(data_of(Request(0).add(OP_WRITE, write_)));
  EXPECT_FALSE(data_of(Request(0)));
}

TEST_F(BulkDataTest, a_head_that_ends_too_early_says_nothing) {
  const Request request = Request(0).add(OP_PUTFH, PUTFH4args{}).add(OP_WRITE, write_);
  constexpr std::size_t head = 12 + 8 + 4 + 16 + 8 + 4 + 4;
  EXPECT_FALSE(data_of(request, head - 1));
  EXPECT_EQ(data_of(request, head), length);
}

}  // namespace
}  // namespace braid::nfs4::test
