#include "server/config/units.h"

#include <gtest/gtest.h>

namespace braid::server::config {
namespace {

TEST(Units, sizes_are_read_with_and_without_unit) {
  EXPECT_EQ(parse_bytes("0"), 0u);
  EXPECT_EQ(parse_bytes("4096"), 4096u);
  EXPECT_EQ(parse_bytes("12 B"), 12u);
  EXPECT_EQ(parse_bytes("64KiB"), 65536u);
  EXPECT_EQ(parse_bytes("64 MiB"), 64u << 20);
  EXPECT_EQ(parse_bytes("1GiB"), 1u << 30);
  EXPECT_EQ(parse_bytes("16777215TiB"), 16777215ull << 40);
}

TEST(Units, what_is_no_size_is_nothing) {
  for (const char* text : {"", " ", "KiB", "-1", "1.5GiB", "1 gb", "1KB", "1kib", "64  MiB", "1MiB ", "0x10",
                           "18446744073709551616", "16777216TiB"})
    EXPECT_EQ(parse_bytes(text), std::nullopt) << text;
}

TEST(Units, sizes_are_written_in_the_greatest_unit_below_them) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(1023), "1023 B");
  EXPECT_EQ(bytes_text(1024), "1 KiB");
  EXPECT_EQ(bytes_text(1536 * 1024), "1.5 MiB");
  EXPECT_EQ(bytes_text(3ull << 40), "3 TiB");
  EXPECT_EQ(bytes_text(~0ull), "16777216.0 TiB");
}

TEST(Units, durations_are_written_in_two_units) {
  EXPECT_EQ(duration_text(0), "0 s");
  EXPECT_EQ(duration_text(59), "59 s");
  EXPECT_EQ(duration_text(185), "3 min 5 s");
  EXPECT_EQ(duration_text(7440), "2 h 4 min");
  EXPECT_EQ(duration_text(12 * 86400 + 3 * 3600 + 59), "12 d 3 h");
}

}  // namespace
}  // namespace braid::server::config
