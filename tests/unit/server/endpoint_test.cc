#include "server/config/endpoint.h"

#include <gtest/gtest.h>

#include "rpc/socket_address.h"

namespace braid::server::config {
namespace {

rpc::PeerAddress address(const char* text) { return rpc::parse_address(text, 2049).value(); }

TEST(Endpoint, text_and_endpoint_are_each_other_s_inverse) {
  for (const char* text : {"127.0.0.1:9100", "[::1]:65535", "[2001:db8::1]:1", "0.0.0.0:0"}) {
    const auto endpoint = parse_endpoint(text);
    ASSERT_TRUE(endpoint.has_value()) << text;
    EXPECT_EQ(endpoint->text(), text);
  }
}

TEST(Endpoint, what_is_no_address_with_port_is_nothing) {
  for (const char* text :
       {"", ":", ":80", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536", "127.0.0.1:-1",
        "127.1:80", "::1:80", "[::1]", "[127.0.0.1]:80", "localhost:80", "[::1:80", "0x7f000001:80"})
    EXPECT_FALSE(parse_endpoint(text).has_value()) << text;
}

TEST(Endpoint, the_host_is_written_without_port_and_brackets) {
  EXPECT_EQ(host_text(address("192.0.2.1")), "192.0.2.1");
  EXPECT_EQ(host_text(address("2001:db8::1")), "2001:db8::1");
}

TEST(Endpoint, addresses_of_all_and_of_this_host_are_recognised) {
  EXPECT_TRUE(is_any(address("::")));
  EXPECT_TRUE(is_any(address("0.0.0.0")));
  EXPECT_FALSE(is_any(address("::1")));
  EXPECT_TRUE(is_loopback(address("::1")));
  EXPECT_TRUE(is_loopback(address("127.8.0.1")));
  EXPECT_FALSE(is_loopback(address("10.0.0.1")));
  EXPECT_FALSE(is_loopback(address("::")));
}

}  // namespace
}  // namespace braid::server::config
