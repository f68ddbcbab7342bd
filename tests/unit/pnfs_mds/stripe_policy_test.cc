#include "pnfs_mds/stripe_policy.h"

#include <gmock/gmock.h>

namespace braid::pnfs_mds::test {
namespace {

using testing::HasSubstr;

constexpr StripePolicy usual{.unit = base::MiB, .width = 4, .packing = pnfs::Packing::sparse};

std::string wrong(std::string_view text) {
  const auto parsed = parse_stripes(text, usual);
  return parsed ? "" : parsed.error();
}

TEST(StripePolicyTest, any_of_the_three_is_named_and_the_rest_is_as_usual) {
  EXPECT_EQ(parse_stripes("unit=2MiB,width=7,packing=dense", usual),
            (StripePolicy{.unit = 2 * base::MiB, .width = 7, .packing = pnfs::Packing::dense}));
  EXPECT_EQ(parse_stripes("width=1", usual), (StripePolicy{.unit = base::MiB, .width = 1}));
  EXPECT_EQ(parse_stripes("packing=sparse,unit=65536", usual),
            (StripePolicy{.unit = 64 * base::KiB, .width = 4}));
  EXPECT_EQ(parse_stripes("unit=1GiB", usual)->unit, base::GiB);
  EXPECT_EQ(parse_stripes("unit=68KiB", usual)->unit, 68 * base::KiB);
}

TEST(StripePolicyTest, nonsense_is_said_to_be) {
  for (const char* unit :
       {"unit=", "unit=MiB", "unit=1 MiB", "unit=32KiB", "unit=65537", "unit=2GiB", "unit=-1",
        "unit=99999999999999999999", "unit=18446744073709551615GiB", "unit=0x100000"})
    EXPECT_THAT(wrong(unit), HasSubstr("unit")) << unit;
  for (const char* width : {"width=", "width=0", "width=57", "width=4294967297", "width=four"})
    EXPECT_THAT(wrong(width), HasSubstr("width")) << width;
  EXPECT_THAT(wrong("packing=loose"), HasSubstr("packing"));
  EXPECT_THAT(wrong("unit=1GiB,width=4,packing=dense"), HasSubstr("4GiB"));
  EXPECT_THAT(wrong("width=4,width=4"), HasSubstr("twice"));
  EXPECT_THAT(wrong("mirrors=2"), HasSubstr("something else"));
  for (const char* no_list : {"", ",", "width", "width=4,", "=4"})
    EXPECT_THAT(wrong(no_list), HasSubstr("list")) << no_list;
}

}  // namespace
}  // namespace braid::pnfs_mds::test
