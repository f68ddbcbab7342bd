#include "server/cli/text_table.h"

#include <gtest/gtest.h>

namespace braid::server::cli {
namespace {

TEST(TextTable, text_begins_at_the_left_and_numbers_end_at_the_right) {
  EXPECT_EQ(table_text({{"NAME", "COUNT"}, {"a", "7"}, {"longer", "12345678"}}, 1),
            "  NAME       COUNT\n  a              7\n  longer  12345678\n");
}

TEST(TextTable, cells_that_others_chose_cannot_write_on_the_terminal_or_forge_lines) {
  EXPECT_EQ(table_text({{"FILE", "N"}, {"a\nb\x1b[2J", "1"}}, 1),
            "  FILE           N\n  a\\x0ab\\x1b[2J  1\n");
}

TEST(TextTable, characters_count_and_not_bytes) {
  EXPECT_EQ(table_text({{"FILE", "N"}, {"Größe", "1"}}, 1), "  FILE   N\n  Größe  1\n");
}

}  // namespace
}  // namespace braid::server::cli
