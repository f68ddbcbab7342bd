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

}  // namespace
}  // namespace braid::base
