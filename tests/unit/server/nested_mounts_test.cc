#include "server/nested_mounts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace braid::server {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Lines of a kernel; only the fifth field matters.
constexpr std::string_view mountinfo =
    "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
    "30 22 8:2 / /srv/data rw - xfs /dev/sdb rw\n"
    "31 30 8:3 / /srv/data/inner rw - xfs /dev/sdc rw\n"
    "32 31 8:4 / /srv/data/inner/deep rw - xfs /dev/sdd rw\n"
    "33 22 8:5 / /srv/data2 rw - xfs /dev/sde rw\n"
    "34 22 8:6 / /srv/a\\040b\\134c rw - xfs /dev/sdf rw\n"
    "35 33 8:7 / /srv/data2 rw - xfs /dev/sdg rw\n";

TEST(NestedMounts, the_topmost_ones_below_a_directory_are_named) {
  EXPECT_THAT(mounts_below({"/srv/data"}, mountinfo), ElementsAre(ElementsAre("/srv/data/inner")));
  EXPECT_THAT(mounts_below({"/srv"}, mountinfo),
              ElementsAre(ElementsAre("/srv/a b\\c", "/srv/data", "/srv/data2")));
  EXPECT_THAT(mounts_below({"/srv/data2", "/srv/dat"}, mountinfo), ElementsAre(IsEmpty(), IsEmpty()));
}

TEST(NestedMounts, what_is_exported_by_itself_is_none_of_the_outer_export) {
  EXPECT_THAT(mounts_below({"/srv", "/srv/data", "/srv/data2"}, mountinfo),
              ElementsAre(ElementsAre("/srv/a b\\c"), ElementsAre("/srv/data/inner"), IsEmpty()));
  EXPECT_THAT(mounts_below({"/srv/data", "/srv/data/inner/deep"}, mountinfo),
              ElementsAre(ElementsAre("/srv/data/inner"), IsEmpty()));
}

TEST(NestedMounts, those_of_this_machine_are_found) {
  const auto below_root = mounts_below(std::vector<std::string>{"/"});
  EXPECT_THAT(below_root, ElementsAre(testing::Contains("/proc")));
}

TEST(NestedMounts, what_is_no_mountinfo_has_none) {
  EXPECT_THAT(mounts_below({"/"}, "\n1 2 3\nwords\n"), ElementsAre(IsEmpty()));
  EXPECT_THAT(mounts_below({"/"}, "1 2 3 4 /a\\04"), ElementsAre(ElementsAre("/a\\04"))) << "no octal number";
}

}  // namespace
}  // namespace braid::server
