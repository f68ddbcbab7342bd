// One thread's event loop on io_uring: readiness of descriptors, asynchronous file I/O, timers, work posted
// by others.
#pragma once

#include <liburing.h>
#include <poll.h>

#include <array>
#include <atomic>
#include <coroutine>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/result.h"
#include "io/op.h"
#include "io/ready_queue.h"
#include "io/slab.h"

namespace braid::io {

class Reactor;

// The wait for one completion of the ring. Lives in the frame of the coroutine that awaits it, until it
// resumes.
class Completion {
 public:
  std::int32_t result = 0;  // of the request: >= 0 or -errno
  std::coroutine_handle<> waiter;
};

struct ReactorOptions {
  unsigned ring_entries = 1024;
};

struct ReactorStats {
  std::uint64_t turns = 0;        // of the loop
  std::uint64_t sleeps = 0;       // turns that waited in the kernel
  std::uint64_t completions = 0;  // of the ring
  std::uint64_t posted = 0;       // items from other threads
};

// A point in time that a coroutine waits for; cancellable. Belongs to the reactor's thread.
class Timer {
 public:
  explicit Timer(Reactor& reactor) : reactor_(reactor) {}
  ~Timer() { cancel(); }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  // co_await timer.until(t): true when t has come, false when cancelled. One waiter at a time.
  auto until(base::TimePoint deadline) {
    struct Awaiter {
      Timer& timer;
      base::TimePoint deadline;
      [[nodiscard]] bool await_ready() const { return false; }
      void await_suspend(std::coroutine_handle<> handle) { timer.arm(deadline, handle); }
      [[nodiscard]] bool await_resume() const { return timer.fired_; }
    };
    return Awaiter{*this, deadline};
  }
  // Wakes the waiter, if there is one, with false.
  void cancel();

 private:
  friend class Reactor;
  void arm(base::TimePoint deadline, std::coroutine_handle<> waiter);
  Reactor& reactor_;
  std::multimap<base::TimePoint, Timer*>::iterator armed_;  // while somebody waits
  std::coroutine_handle<> waiter_;
  bool fired_ = false;
};

// Life: create() on any thread, run() on the thread that owns it until stop(); destroyed after run()
// returned. Unless said otherwise a member may be called only on the running thread. Loop: reap completions
// into the ready queue, run ready coroutines (a budget per turn), then submit and sleep in one system call.
// No coroutine runs while completions are reaped.
class Reactor {
 public:
  // Fails with the errno of io_uring_setup (ENOSYS, EPERM where io_uring is forbidden).
  static base::Result<std::unique_ptr<Reactor>> create(const ReactorOptions& options,
                                                       const base::Clock& clock);
  ~Reactor();
  Reactor(const Reactor&) = delete;
  Reactor& operator=(const Reactor&) = delete;

  // Runs until stop(), and then on until nothing is ready; also makes this thread's ReadyQueue the reactor's.
  void run();
  // Any thread: run() returns soon, leaving whatever still waits.
  void stop();
  // Any thread: resumes a coroutine, or calls a function, on the reactor's thread.
  void post(std::coroutine_handle<> handle) { post(ReadyItem::of(handle)); }
  void post(ReadyItem item);
  void post(std::function<void()> function);
  // True on the thread inside run().
  [[nodiscard]] bool on_own_thread() const { return current() == this; }
  // The reactor that runs on the calling thread; null elsewhere (pool threads, tests without a loop).
  static Reactor* current();

  [[nodiscard]] const base::Clock& clock() const { return clock_; }
  [[nodiscard]] ReadyQueue& ready_queue() { return ready_; }
  // Any thread.
  [[nodiscard]] ReactorStats stats() const;

  // co_await reactor.poll(fd, POLLIN): the revents, or the errno; ECANCELED after cancel_fd().
  auto poll(int fd, short events) {
    return Request([fd, events](io_uring_sqe* sqe) { prepare_poll(sqe, fd, events); }, *this);
  }
  auto readable(int fd) { return poll(fd, POLLIN); }
  auto writable(int fd) { return poll(fd, POLLOUT); }
  // Accepts one connection: a non-blocking, close-on-exec descriptor.
  auto accept(int fd) {
    return Request([fd](io_uring_sqe* sqe) { prepare_accept(sqe, fd); }, *this);
  }
  // File I/O by the ring: bytes done or the errno.
  auto read(int fd, base::MutableBytes to, std::uint64_t offset) {
    return Request([=](io_uring_sqe* sqe) { prepare_read(sqe, fd, to, offset); }, *this);
  }
  auto write(int fd, base::BytesView from, std::uint64_t offset) {
    return Request([=](io_uring_sqe* sqe) { prepare_write(sqe, fd, from, offset); }, *this);
  }
  auto fsync(int fd, bool data_only) {
    return Request([=](io_uring_sqe* sqe) { prepare_fsync(sqe, fd, data_only); }, *this);
  }
  // Ends every request on this descriptor with ECANCELED. Call before closing a descriptor that may be waited
  // on.
  void cancel_fd(int fd);
  // co_await reactor.sleep(d).
  Op<> sleep(base::Duration duration);
  // co_await reactor.yield(): lets other ready work run first.
  auto yield() {
    struct Awaiter {
      ReadyQueue& queue;
      [[nodiscard]] bool await_ready() const { return false; }
      void await_suspend(std::coroutine_handle<> handle) { queue.push(ReadyItem::of(handle)); }
      void await_resume() const {}
    };
    return Awaiter{ready_};
  }
  // co_await reactor.next_turn(): the same for what comes meanwhile. For each part of something that takes
  // long: of those that yield(), many run within one turn.
  auto next_turn() {
    class Awaiter {
     public:
      explicit Awaiter(Reactor& reactor) : reactor_(reactor) {}
      [[nodiscard]] bool await_ready() const { return false; }
      void await_suspend(std::coroutine_handle<> handle) {
        handle_ = handle;
        reactor_.at_end_of_turn({[](void* self) {
                                   const auto* const waits = static_cast<Awaiter*>(self);
                                   waits->reactor_.ready_.push(ReadyItem::of(waits->handle_));
                                 },
                                 this});
      }
      void await_resume() const {}

     private:
      Reactor& reactor_;
      std::coroutine_handle<> handle_;
    };
    return Awaiter(*this);
  }
  // Runs `function` once at the end of the current turn, before the thread sleeps: for batching (flushing
  // replies).
  void at_end_of_turn(ReadyItem item) { end_of_turn_.push_back(item); }

 private:
  friend class Timer;

  template <class Prepare>
  class Request : private Completion {
   public:
    Request(Prepare prepare, Reactor& reactor) : prepare_(std::move(prepare)), reactor_(reactor) {}
    [[nodiscard]] bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> handle) {
      waiter = handle;
      io_uring_sqe* sqe = reactor_.next_sqe();
      prepare_(sqe);
      io_uring_sqe_set_data(sqe, static_cast<Completion*>(this));
    }
    base::Result<int> await_resume() const {
      if (result < 0) return base::fail(-result);
      return result;
    }

   private:
    Prepare prepare_;
    Reactor& reactor_;
  };

  explicit Reactor(const base::Clock& clock) : clock_(clock) {}
  static void prepare_poll(io_uring_sqe* sqe, int fd, short events);
  static void prepare_accept(io_uring_sqe* sqe, int fd);
  static void prepare_read(io_uring_sqe* sqe, int fd, base::MutableBytes to, std::uint64_t offset);
  static void prepare_write(io_uring_sqe* sqe, int fd, base::BytesView from, std::uint64_t offset);
  static void prepare_fsync(io_uring_sqe* sqe, int fd, bool data_only);
  io_uring_sqe* next_sqe();
  base::Result<void> set_up(const ReactorOptions& options);
  void arm_wakeup();
  void take_posted();
  void reap();
  void fire_timers();
  void run_end_of_turn();
  void submit_and_wait();

  const base::Clock& clock_;
  io_uring ring_{};
  bool ring_ready_ = false;
  int wakeup_fd_ = -1;
  std::uint64_t wakeup_count_ = 0;
  ReadyQueue ready_;
  std::vector<ReadyItem> end_of_turn_;
  std::vector<ReadyItem> taken_;  // posted items on their way to ready_
  std::multimap<base::TimePoint, Timer*>
      timers_;                                 // those of one moment in the order in which they were armed
  std::optional<base::TimePoint> turn_began_;  // if there were timers to look at
  // Written by the running thread alone.
  struct {
    std::atomic<std::uint64_t> turns{0}, sleeps{0}, completions{0}, posted{0};
  } counters_;

  std::mutex posted_mutex_;
  std::vector<ReadyItem> posted_;        // guarded by posted_mutex_
  std::atomic<bool> posted_any_{false};  // a hint that posted_ is not empty
  std::atomic<bool> asleep_{false};
  std::atomic<bool> stopping_{false};
};

}  // namespace braid::io
