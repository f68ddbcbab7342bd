#include "nfs4/pseudo/refused_mounts.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace braid::nfs4 {
namespace {

using enum nfsstat4;
constexpr base::TimePoint start{std::chrono::hours(1)};

TEST(RefusedMounts, a_client_and_path_have_a_line_a_minute) {
  RefusedMounts refused;
  EXPECT_TRUE(refused.tell("192.0.2.1", "/a", 2, NFS4ERR_NOENT, start));
  EXPECT_FALSE(refused.tell("192.0.2.1", "/a", 2, NFS4ERR_NOENT, start + std::chrono::seconds(59)));
  EXPECT_TRUE(refused.tell("192.0.2.1", "/b", 2, NFS4ERR_NOENT, start));
  EXPECT_TRUE(refused.tell("192.0.2.2", "/a", 2, NFS4ERR_ACCESS, start));
  EXPECT_TRUE(refused.tell("192.0.2.1", "/a", 2, NFS4ERR_NOENT, start + std::chrono::seconds(60)));
}

TEST(RefusedMounts, who_makes_up_names_fills_no_disk) {
  RefusedMounts refused;
  std::size_t lines = 0;
  for (int i = 0; i < 1000; ++i)
    lines += refused.tell("192.0.2.1", "/" + std::to_string(i), 0, NFS4ERR_NOENT, start);
  EXPECT_EQ(lines, RefusedMounts::lines_max);
}

}  // namespace
}  // namespace braid::nfs4
