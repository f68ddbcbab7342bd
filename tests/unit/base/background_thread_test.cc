#include "base/background_thread.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <thread>

namespace braid::base {
namespace {

TEST(BackgroundThread, gives_way_alone) {
  const int before = ::getpriority(PRIO_PROCESS, 0);
  int there = before;
  std::thread([&] {
    give_way_to_others();
    there = ::getpriority(PRIO_PROCESS, 0);
  }).join();
  EXPECT_EQ(there, background_nice);
  EXPECT_EQ(::getpriority(PRIO_PROCESS, 0), before);
}

TEST(BackgroundThread, takes_no_more_than_it_had) {
  int there = 0;
  std::thread([&] {
    ASSERT_EQ(::setpriority(PRIO_PROCESS, 0, background_nice + 5), 0);
    give_way_to_others();
    there = ::getpriority(PRIO_PROCESS, 0);
  }).join();
  EXPECT_EQ(there, background_nice + 5);
}

}  // namespace
}  // namespace braid::base
