#include "rdma/assembly.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "tests/unit/rpc/bytes.h"

namespace braid::rdma {
namespace {

class AssemblyTest : public testing::Test {
 protected:
  io::Payload text(std::string_view bytes) { return rpc::test::payload_of(pool_, base::bytes_of(bytes)); }
  std::optional<std::string> assembled(std::string_view rest, std::vector<ChunkData> chunks) {
    const auto whole = assemble(text(rest), chunks);
    if (!whole) return std::nullopt;
    return std::string(base::text_of(rpc::test::bytes_of(*whole)));
  }
  io::SlabPool pool_{{.bytes_max = 8 * io::region_bytes, .huge_pages = false}};
};

TEST_F(AssemblyTest, without_chunks_nothing_changes) { EXPECT_EQ(assembled("abcdefgh", {}), "abcdefgh"); }

TEST_F(AssemblyTest, a_chunk_goes_where_its_position_says) {
  EXPECT_EQ(assembled("abcdefgh", {{4, text("1234")}}), "abcd1234efgh");
  EXPECT_EQ(assembled("abcdefgh", {{8, text("1234")}}), "abcdefgh1234");
}

TEST_F(AssemblyTest, positions_count_bytes_of_the_whole_message) {
  EXPECT_EQ(assembled("abcdefgh", {{4, text("1234")}, {12, text("5678")}}), "abcd1234efgh5678");
  EXPECT_EQ(assembled("abcdefgh", {{4, text("1234")}, {8, text("5678")}}), "abcd12345678efgh");
}

TEST_F(AssemblyTest, a_position_behind_the_end_is_refused) {
  EXPECT_EQ(assembled("abcd", {{8, text("1234")}}), std::nullopt);
  EXPECT_EQ(assembled("abcd", {{4, text("1234")}, {12, text("5678")}}), std::nullopt);
}

TEST_F(AssemblyTest, a_position_inside_another_chunk_is_refused) {
  EXPECT_EQ(assembled("abcdefgh", {{4, text("12345678")}, {8, text("5678")}}), std::nullopt);
}

TEST_F(AssemblyTest, nothing_is_copied) {
  const io::Payload data = text("1234");
  const auto whole = assemble(text("abcd"), std::vector<ChunkData>{{4, data}});
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->ranges().back().memory().value().data(), data.ranges().front().memory().value().data());
}

}  // namespace
}  // namespace braid::rdma
