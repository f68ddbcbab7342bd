#include "server/endpoint.h"

#include <gtest/gtest.h>

namespace braid::server {
namespace {

TEST(Endpoint, text_and_endpoint_are_each_other_s_inverse) {
  for (const char* text : {"127.0.0.1:9100", "[::1]:65535", "[2001:db8::1]:1", "0.0.0.0:0"}) {
    const auto endpoint = Endpoint::parse(text);
    ASSERT_TRUE(endpoint.has_value()) << text;
    EXPECT_EQ(endpoint->text(), text);
  }
}

TEST(Endpoint, what_is_no_address_with_port_is_nothing) {
  for (const char* text :
       {"", ":", ":80", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536", "127.0.0.1:-1",
        "127.1:80", "::1:80", "[::1]", "[127.0.0.1]:80", "localhost:80", "[::1:80", "0x7f000001:80"})
    EXPECT_FALSE(Endpoint::parse(text).has_value()) << text;
}

TEST(Endpoint, addresses_of_all_and_of_this_host_are_recognised) {
  EXPECT_TRUE(Endpoint::of("::", 1)->is_any());
  EXPECT_TRUE(Endpoint::of("0.0.0.0", 1)->is_any());
  EXPECT_FALSE(Endpoint::of("::1", 1)->is_any());
  EXPECT_TRUE(Endpoint::of("::1", 1)->is_loopback());
  EXPECT_TRUE(Endpoint::of("127.8.0.1", 1)->is_loopback());
  EXPECT_FALSE(Endpoint::of("10.0.0.1", 1)->is_loopback());
}

TEST(Endpoint, a_listener_tells_the_port_that_was_chosen) {
  const auto listener = listen_on(*Endpoint::of("127.0.0.1", 0), DualStack::no);
  ASSERT_TRUE(listener.has_value());
  const auto local = local_endpoint(listener->get());
  ASSERT_TRUE(local.has_value());
  EXPECT_EQ(local->address_text(), "127.0.0.1");
  EXPECT_NE(local->port(), 0);
}

TEST(Endpoint, a_port_in_use_is_an_error) {
  const auto first = listen_on(*Endpoint::of("127.0.0.1", 0), DualStack::no);
  ASSERT_TRUE(first.has_value());
  const auto second = listen_on(*local_endpoint(first->get()), DualStack::no);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error(), base::errno_of(EADDRINUSE));
}

TEST(Endpoint, an_address_of_another_host_is_an_error) {
  const auto foreign = listen_on(*Endpoint::of("192.0.2.1", 0), DualStack::no);
  ASSERT_FALSE(foreign.has_value());
  EXPECT_EQ(foreign.error(), base::errno_of(EADDRNOTAVAIL));
}

}  // namespace
}  // namespace braid::server
