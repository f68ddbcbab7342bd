#include "rdma/private_data.h"

#include <gtest/gtest.h>

#include "tests/unit/rpc/bytes.h"

namespace braid::rdma {
namespace {

using rpc::test::words;

TEST(PrivateDataTest, has_the_bytes_of_rfc_8797) {
  const auto bytes = encode({.send_bytes = 4096, .receive_bytes = 8192, .remote_invalidation = true});
  EXPECT_EQ(base::Bytes(bytes.begin(), bytes.end()), words({0xf6ab0e18, 0x01010307}));
}

TEST(PrivateDataTest, is_found_in_front_of_padding) {
  base::Bytes bytes = words({0xf6ab0e18, 0x01000003});
  bytes.resize(56);
  EXPECT_EQ(decode_private_data(bytes), (PrivateData{1024, 4096, false}));
}

TEST(PrivateDataTest, sizes_reach_from_1_KiB_to_256_KiB) {
  const PrivateData data{1024, 256 * 1024, false};
  EXPECT_EQ(decode_private_data(encode(data)), data);
}

TEST(PrivateDataTest, of_a_peer_that_says_something_else_the_defaults_hold) {
  const PrivateData defaults{1024, 1024, false};
  EXPECT_EQ(decode_private_data({}), defaults);
  EXPECT_EQ(decode_private_data(words({0xf6ab0e18})), defaults);
  EXPECT_EQ(decode_private_data(words({0xf6ab0e19, 0x01010303})), defaults);
  EXPECT_EQ(decode_private_data(words({0xf6ab0e18, 0x02010303})), defaults);
}

TEST(PrivateDataTest, flags_without_a_meaning_are_ignored) {
  EXPECT_EQ(decode_private_data(words({0xf6ab0e18, 0x01ff0303})), (PrivateData{4096, 4096, true}));
}

}  // namespace
}  // namespace braid::rdma
