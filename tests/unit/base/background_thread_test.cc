#include "base/background_thread.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

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

// ioprio_get(2): the class, and the level in it.
constexpr int this_thread = 1, io_class_shift = 13, best_effort_last = 2 << io_class_shift | 7, io_idle = 3;

TEST(BackgroundThread, gives_way_at_the_disk) {
  long there = 0;
  std::thread([&] {
    give_way_to_others();
    there = ::syscall(SYS_ioprio_get, this_thread, 0);
  }).join();
  EXPECT_EQ(there, best_effort_last);
}

TEST(BackgroundThread, takes_no_more_than_it_had) {
  int there = 0;
  long class_there = 0;
  std::thread([&] {
    ASSERT_EQ(::setpriority(PRIO_PROCESS, 0, background_nice + 5), 0);
    ASSERT_EQ(::syscall(SYS_ioprio_set, this_thread, 0, io_idle << io_class_shift), 0);
    give_way_to_others();
    there = ::getpriority(PRIO_PROCESS, 0);
    class_there = ::syscall(SYS_ioprio_get, this_thread, 0) >> io_class_shift;
  }).join();
  EXPECT_EQ(there, background_nice + 5);
  EXPECT_EQ(class_there, io_idle);
}

}  // namespace
}  // namespace braid::base
