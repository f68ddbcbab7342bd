#include "vfs/network.h"

#include <gtest/gtest.h>

namespace braid::vfs {
namespace {

bool contains(std::string_view network, std::string_view address) {
  return Network::parse(network).value().contains(Address::parse(address).value());
}

TEST(NetworkTest, an_ipv4_network_contains_its_addresses_and_no_others) {
  EXPECT_TRUE(contains("10.1.0.0/16", "10.1.255.255"));
  EXPECT_FALSE(contains("10.1.0.0/16", "10.2.0.0"));
  EXPECT_TRUE(contains("10.1.2.128/25", "10.1.2.129"));
  EXPECT_FALSE(contains("10.1.2.128/25", "10.1.2.127"));
  EXPECT_TRUE(contains("192.0.2.7", "192.0.2.7"));
  EXPECT_FALSE(contains("192.0.2.7", "192.0.2.6"));
}

TEST(NetworkTest, a_network_contains_its_parts) {
  const auto within = [](std::string_view whole, std::string_view part) {
    return Network::parse(whole).value().contains(Network::parse(part).value());
  };
  EXPECT_TRUE(within("10.0.0.0/8", "10.1.0.0/16"));
  EXPECT_TRUE(within("10.0.0.0/8", "10.0.0.0/8"));
  EXPECT_FALSE(within("10.1.0.0/16", "10.0.0.0/8"));
  EXPECT_FALSE(within("10.0.0.0/8", "11.1.0.0/16"));
  EXPECT_FALSE(within("10.0.0.0/8", "fd00::/8"));
}

TEST(NetworkTest, an_ipv6_network_contains_its_addresses_and_no_others) {
  EXPECT_TRUE(contains("fd00::/8", "fdff::1"));
  EXPECT_FALSE(contains("fd00::/8", "fe00::1"));
  EXPECT_TRUE(contains("2001:db8::/33", "2001:db8:7fff::"));
  EXPECT_FALSE(contains("2001:db8::/33", "2001:db8:8000::"));
}

TEST(NetworkTest, an_ipv4_address_is_its_mapped_ipv6_form) {
  EXPECT_EQ(Address::parse("192.0.2.1"), Address::parse("::ffff:192.0.2.1"));
  EXPECT_TRUE(contains("::ffff:10.0.0.0/104", "10.9.9.9"));
}

TEST(NetworkTest, a_prefix_of_zero_contains_all_of_its_family) {
  EXPECT_TRUE(contains("0.0.0.0/0", "203.0.113.9"));
  EXPECT_FALSE(contains("0.0.0.0/0", "2001:db8::1"));
  EXPECT_TRUE(contains("::/0", "203.0.113.9"));
}

TEST(NetworkTest, host_bits_mean_nothing) {
  EXPECT_EQ(Network::parse("10.1.2.3/16").value().base, Network::parse("10.1.0.0/16").value().base);
}

TEST(NetworkTest, host_bits_are_noticed) {
  for (const char* text : {"10.0.0.5/8", "10.0.0.1/31", "fd00::1/8", "2001:db8::/16"})
    EXPECT_TRUE(Network::has_host_bits(text)) << text;
  for (const char* text :
       {"10.0.0.0/8", "10.0.0.5", "10.0.0.5/32", "0.0.0.0/0", "::/0", "fd00::/8", "::1", "nothing"})
    EXPECT_FALSE(Network::has_host_bits(text)) << text;
}

TEST(NetworkTest, it_is_written_as_people_do) {
  for (const char* text : {"10.0.0.0/8", "192.0.2.7", "0.0.0.0/0", "fd00::/8", "::/0", "2001:db8::1"})
    EXPECT_EQ(Network::parse(text).value().text(), text);
  EXPECT_EQ(Network::parse("10.0.0.5/8").value().text(), "10.0.0.0/8");
  EXPECT_EQ(Network::parse("10.0.0.5/32").value().text(), "10.0.0.5");
}

TEST(NetworkTest, what_is_no_network_is_refused) {
  for (const char* text :
       {"", "/8", "10.0.0.0/", "10.0.0.0/33", "fd00::/129", "10.0.0.0/-1", "10.0.0.0/8x", "10.0.0",
        "10.0.0.0.0", "host.example", "10.0.0.0/ 8", "fe80::1%eth0", "1.2.3.4/08/9"})
    EXPECT_FALSE(Network::parse(text)) << text;
  EXPECT_FALSE(Network::parse(std::string_view("10.0.0.1\0", 9)));
  EXPECT_FALSE(Address::parse(std::string(100, '1')));
}

}  // namespace
}  // namespace braid::vfs
