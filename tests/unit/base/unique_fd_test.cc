#include "base/unique_fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <utility>

namespace braid::base {
namespace {

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) != -1; }

TEST(UniqueFd, the_descriptor_is_closed_with_its_owner) {
  int number = -1;
  {
    const UniqueFd fd(::dup(0));
    number = fd.get();
    ASSERT_TRUE(is_open(number));
  }
  EXPECT_FALSE(is_open(number));
}

TEST(UniqueFd, moving_hands_the_descriptor_on_and_closes_the_target_s_own) {
  UniqueFd from(::dup(0)), to(::dup(0));
  const int kept = from.get(), dropped = to.get();
  to = std::move(from);
  EXPECT_EQ(to.get(), kept);
  EXPECT_TRUE(is_open(kept));
  EXPECT_FALSE(is_open(dropped));
}

TEST(UniqueFd, a_released_descriptor_stays_open) {
  UniqueFd fd(::dup(0));
  const int number = fd.release();
  fd.reset();
  EXPECT_TRUE(is_open(number));
  ::close(number);
}

}  // namespace
}  // namespace braid::base
