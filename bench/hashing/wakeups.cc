// What two threads take on this machine that sleep and wake each other as an engine's do, and do nothing
// else.
#include <fmt/format.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/assert.h"
#include "base/unique_fd.h"
#include "bench/hashing/cpu_time.h"
#include "bench/hashing/rows.h"

namespace braid::bench {
namespace {

// Takes a job at a time, sleeps as long as a card would take for it, and says that it is done.
class SleepingWorker {
 public:
  SleepingWorker() : done_(::eventfd(0, EFD_CLOEXEC)), thread_([this] { work(); }) {
    base::check(static_cast<bool>(done_), "an event descriptor can be had");
  }
  ~SleepingWorker() {
    hand_over(Order::stop);
    thread_.join();
  }
  SleepingWorker(const SleepingWorker&) = delete;
  SleepingWorker& operator=(const SleepingWorker&) = delete;

  void do_job() {
    hand_over(Order::job);
    std::uint64_t count = 0;
    base::check(::read(done_.get(), &count, sizeof count) == sizeof count, "the worker answers");
  }

 private:
  enum class Order : std::uint8_t { none, job, stop };

  void hand_over(Order order) {
    {
      const std::lock_guard lock(mutex_);
      order_ = order;
    }
    changed_.notify_one();
  }
  void work() {
    (void)::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    for (;;) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return order_ != Order::none; });
      if (order_ == Order::stop) return;
      order_ = Order::none;
      changed_.wait_for(lock, card_time, [this] { return order_ == Order::stop; });
      lock.unlock();
      const std::uint64_t one = 1;
      base::check(::write(done_.get(), &one, sizeof one) == sizeof one, "the counter has room");
    }
  }

  base::UniqueFd done_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Order order_ = Order::none;
  std::thread thread_;  // last: it uses the others
};

}  // namespace

void print_wakeups_row() {
  const unsigned jobs = is_quick() ? 100 : 10'000;
  SleepingWorker worker;
  for (unsigned i = 0; i < jobs / 10; ++i) worker.do_job();
  const CpuTime before = CpuTime::now();
  for (unsigned i = 0; i < jobs; ++i) worker.do_job();
  const CpuTime after = CpuTime::now();
  fmt::print("{:<62} {:.1f} us of CPU ({:.1f} of them the submitter's), per job\n", row_wakeups,
             (after.all_us - before.all_us) / jobs, (after.own_us - before.own_us) / jobs);
}

}  // namespace braid::bench
