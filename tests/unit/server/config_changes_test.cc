// What a reload and a check need to know of a configuration file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/config/config.h"

namespace braid::server::config {
namespace {

TEST(Config, an_export_knows_the_line_of_its_directory) {
  const auto config = parse_config("\n[[export]]\npath = '/a'\ndirectory = '/srv/a'\n");
  ASSERT_TRUE(config.has_value());
  EXPECT_EQ(config->exports.at(0).line, 4U);
}

TEST(Config, keys_that_differ_are_named_whatever_their_order_and_exports_are_not_among_them) {
  constexpr std::string_view before =
      "[server]\nport = 2049\nthreads = 2\n[limits]\nlease_seconds = 90\n[[export]]\n";
  EXPECT_THAT(changed_keys(before, before), testing::IsEmpty());
  EXPECT_THAT(changed_keys(before,
                           "[[export]]\npath = 1\n[limits]\nlease_seconds = 90 # as it was\n"
                           "[server]\nthreads = 2\nport = 2049\n"),
              testing::IsEmpty());
  EXPECT_THAT(changed_keys(before,
                           "[server]\nport = 2050\nlisten = ['::1']\n[limits]\nlease_seconds = 90\n[pnfs]\n"
                           "[[store]]\nname = 'a'\n"),
              testing::UnorderedElementsAre("[server] port", "[server] listen", "[server] threads", "[pnfs]",
                                            "[[store]]"));
  EXPECT_THAT(changed_keys("[[store]]\nname = 'a'\n", "[[store]]\nname = 'b'\n"),
              testing::ElementsAre("[[store]]"));
}

}  // namespace
}  // namespace braid::server::config
