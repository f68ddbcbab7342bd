#include "base/strong.h"

#include <gtest/gtest.h>

#include <type_traits>
#include <unordered_set>

namespace braid::base {
namespace {

struct RowTag;
struct ColumnTag;
using Row = Strong<RowTag, std::uint32_t>;
using Column = Strong<ColumnTag, std::uint32_t>;

static_assert(!std::is_convertible_v<Row, Column>, "swapping two ids must not compile");
static_assert(!std::is_constructible_v<Row, Column>);
static_assert(!std::is_convertible_v<std::uint32_t, Row>);
static_assert(!std::is_convertible_v<Row, std::uint32_t>);
static_assert(sizeof(Row) == sizeof(std::uint32_t));

TEST(Strong, ids_compare_and_hash_by_value) {
  EXPECT_EQ(Row(3), Row(3));
  EXPECT_LT(Row(3), Row(4));
  const std::unordered_set<Row> rows{Row(1), Row(2), Row(1)};
  EXPECT_EQ(rows.size(), 2u);
  EXPECT_EQ(Row().value(), 0u);
}

}  // namespace
}  // namespace braid::base
