#include "server/config/suggest.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace braid::server::config {
namespace {

constexpr std::array<std::string_view, 4> known{"port", "listen", "state_dir", "read_only"};

TEST(Suggest, a_slip_of_the_finger_finds_its_word) {
  EXPECT_EQ(closest("prot", known), "port");
  EXPECT_EQ(closest("por", known), "port");
  EXPECT_EQ(closest("lissten", known), "listen");
}

TEST(Suggest, case_and_separators_do_not_matter) {
  EXPECT_EQ(closest("StateDir", known), "state_dir");
  EXPECT_EQ(closest("read-only", known), "read_only");
}

TEST(Suggest, a_word_far_from_all_finds_none) {
  EXPECT_EQ(closest("xylophone", known), "");
  EXPECT_EQ(closest("", known), "");
  EXPECT_EQ(closest(std::string(100'000, 'p'), known), "");
}

}  // namespace
}  // namespace braid::server::config
