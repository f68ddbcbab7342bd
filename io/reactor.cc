#include "io/reactor.h"

#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "base/assert.h"

namespace braid::io {
namespace {

// Which loop a thread runs is a property of the thread, not of a request.
thread_local Reactor* current_reactor = nullptr;

constexpr std::size_t ready_budget = 256;  // coroutines per turn, so completions are never starved
constexpr unsigned reap_batch = 64;

// An increment by the only thread that writes: no locked instruction.
void count(std::atomic<std::uint64_t>& counter, std::uint64_t by) {
  counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}

// io_uring_enable_rings() is declared but not exported by liburing 2.3 (Debian 12).
void enable_ring(io_uring& ring) {
  const long failed =
      ::syscall(__NR_io_uring_register, ring.ring_fd, IORING_REGISTER_ENABLE_RINGS, nullptr, 0);
  base::check(failed == 0, "the ring is enabled once");
}

}  // namespace

Reactor* Reactor::current() { return current_reactor; }

base::Result<std::unique_ptr<Reactor>> Reactor::create(const ReactorOptions& options,
                                                       const base::Clock& clock) {
  std::unique_ptr<Reactor> reactor(new Reactor(clock));
  if (auto done = reactor->set_up(options); !done) return base::fail(done.error());
  return reactor;
}

base::Result<void> Reactor::set_up(const ReactorOptions& options) {
  // Completions are run by the owning thread when it asks for them (Linux 6.1); the ring stays disabled until
  // run(), so that the thread that runs becomes its only issuer.
  constexpr unsigned preferred = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN |
                                 IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_R_DISABLED |
                                 IORING_SETUP_SUBMIT_ALL;
  constexpr unsigned older = IORING_SETUP_R_DISABLED;
  int failed = io_uring_queue_init(options.ring_entries, &ring_, preferred);
  if (failed == -EINVAL) failed = io_uring_queue_init(options.ring_entries, &ring_, older);
  if (failed < 0) return base::fail(-failed);
  ring_ready_ = true;
  wakeup_fd_ = ::eventfd(0, EFD_CLOEXEC);
  if (wakeup_fd_ < 0) return base::fail(base::last_errno());
  return {};
}

Reactor::~Reactor() {
  base::check(current_reactor != this, "a reactor ends after run() returned");
  // Whoever posted the last item may still be on its way out of post().
  posted_mutex_.lock();
  posted_mutex_.unlock();
  if (ring_ready_) io_uring_queue_exit(&ring_);
  if (wakeup_fd_ >= 0) ::close(wakeup_fd_);
}

ReactorStats Reactor::stats() const {
  return {counters_.turns.load(std::memory_order_relaxed), counters_.sleeps.load(std::memory_order_relaxed),
          counters_.completions.load(std::memory_order_relaxed),
          counters_.posted.load(std::memory_order_relaxed)};
}

io_uring_sqe* Reactor::next_sqe() {
  io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
  if (sqe == nullptr) {
    io_uring_submit(&ring_);
    sqe = io_uring_get_sqe(&ring_);
  }
  base::check(sqe != nullptr, "a submission queue entry is free after a submit");
  return sqe;
}

void Reactor::prepare_poll(io_uring_sqe* sqe, int fd, short events) {
  io_uring_prep_poll_add(sqe, fd, static_cast<unsigned>(events));
}
void Reactor::prepare_accept(io_uring_sqe* sqe, int fd) {
  io_uring_prep_accept(sqe, fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
}
void Reactor::prepare_read(io_uring_sqe* sqe, int fd, base::MutableBytes to, std::uint64_t offset) {
  io_uring_prep_read(sqe, fd, to.data(), static_cast<unsigned>(to.size()), offset);
}
void Reactor::prepare_write(io_uring_sqe* sqe, int fd, base::BytesView from, std::uint64_t offset) {
  io_uring_prep_write(sqe, fd, from.data(), static_cast<unsigned>(from.size()), offset);
}
void Reactor::prepare_fsync(io_uring_sqe* sqe, int fd, bool data_only) {
  io_uring_prep_fsync(sqe, fd, data_only ? IORING_FSYNC_DATASYNC : 0);
}

void Reactor::cancel_fd(int fd) {
  io_uring_sqe* sqe = next_sqe();
  io_uring_prep_cancel_fd(sqe, fd, IORING_ASYNC_CANCEL_ALL);
  io_uring_sqe_set_data(sqe, nullptr);
  // Now, not at the end of the turn: the caller may close the descriptor next, and its number may be used
  // anew.
  io_uring_submit(&ring_);
}

void Reactor::arm_wakeup() {
  io_uring_sqe* sqe = next_sqe();
  io_uring_prep_read(sqe, wakeup_fd_, &wakeup_count_, sizeof wakeup_count_, 0);
  io_uring_sqe_set_data(sqe, &wakeup_count_);
}

void Reactor::post(ReadyItem item) {
  // All under the lock: as soon as the item runs, the reactor may end, and its destructor waits for the lock.
  std::scoped_lock lock(posted_mutex_);
  posted_.push_back(item);
  posted_any_.store(true);
  if (asleep_.exchange(false)) {
    const std::uint64_t one = 1;
    // The counter cannot overflow: the reactor empties it before it sleeps again.
    base::check(::write(wakeup_fd_, &one, sizeof one) == sizeof one, "eventfd write");
  }
}

void Reactor::post(std::function<void()> function) {
  auto* owned = new std::function<void()>(std::move(function));
  post(ReadyItem{[](void* argument) {
                   std::unique_ptr<std::function<void()>> call(static_cast<std::function<void()>*>(argument));
                   (*call)();
                 },
                 owned});
}

void Reactor::stop() {
  stopping_.store(true);
  post(ReadyItem{[](void*) {}, nullptr});
}

void Reactor::take_posted() {
  if (!posted_any_.exchange(false)) return;
  {
    std::scoped_lock lock(posted_mutex_);
    taken_.swap(posted_);
  }
  count(counters_.posted, taken_.size());
  for (const ReadyItem& item : taken_) ready_.push(item);
  taken_.clear();
}

void Reactor::reap() {
  std::array<io_uring_cqe*, reap_batch> batch;
  for (;;) {
    const unsigned reaped = io_uring_peek_batch_cqe(&ring_, batch.data(), reap_batch);
    for (unsigned i = 0; i < reaped; ++i) {
      void* data = io_uring_cqe_get_data(batch[i]);
      if (data == nullptr) continue;  // a cancel request
      if (data == &wakeup_count_) {
        arm_wakeup();
        continue;
      }
      auto* completion = static_cast<Completion*>(data);
      completion->result = batch[i]->res;
      ready_.push(ReadyItem::of(completion->waiter));
    }
    io_uring_cq_advance(&ring_, reaped);
    count(counters_.completions, reaped);
    if (reaped < reap_batch) return;
  }
}

void Reactor::fire_timers() {
  turn_began_.reset();
  if (timers_.empty()) return;
  turn_began_ = clock_.now();
  while (!timers_.empty() && timers_.begin()->first <= *turn_began_) {
    Timer* timer = timers_.begin()->second;
    timers_.erase(timers_.begin());
    timer->fired_ = true;
    ready_.push(ReadyItem::of(std::exchange(timer->waiter_, nullptr)));
  }
}

void Reactor::run_end_of_turn() {
  // Items may add further ones; those run in the same turn.
  for (std::size_t i = 0; i < end_of_turn_.size(); ++i) {
    const ReadyItem item = end_of_turn_[i];
    item.run(item.argument);
  }
  end_of_turn_.clear();
}

void Reactor::submit_and_wait() {
  if (!ready_.empty()) {
    if (io_uring_sq_ready(&ring_) > 0) io_uring_submit(&ring_);
    return;
  }
  asleep_.store(true);
  if (posted_any_.load() || stopping_.load()) {
    asleep_.store(false);
    if (io_uring_sq_ready(&ring_) > 0) io_uring_submit(&ring_);
    return;
  }
  __kernel_timespec until{};
  if (!timers_.empty()) {
    // Turns are short: the timer may be late by one.
    const base::TimePoint now = turn_began_ ? *turn_began_ : clock_.now();
    const auto left = std::max(timers_.begin()->first - now, base::Duration::zero());
    until.tv_sec = left.count() / 1'000'000'000;
    until.tv_nsec = left.count() % 1'000'000'000;
  }
  io_uring_cqe* first = nullptr;
  count(counters_.sleeps, 1);
  // Interruptions and time-outs look the same as a completion: the next turn finds out.
  (void)io_uring_submit_and_wait_timeout(&ring_, &first, 1, timers_.empty() ? nullptr : &until, nullptr);
  asleep_.store(false);
}

void Reactor::run() {
  base::check(current_reactor == nullptr, "one reactor per thread");
  current_reactor = this;
  ReadyQueue::make_current(&ready_);
  enable_ring(ring_);
  arm_wakeup();
  // A turn has a budget: whoever called stop() may stand behind it with the rest of his way.
  while (!stopping_.load(std::memory_order_relaxed) || !ready_.empty()) {
    count(counters_.turns, 1);
    take_posted();
    reap();
    fire_timers();
    ready_.run(ready_budget);
    run_end_of_turn();
    submit_and_wait();
  }
  ReadyQueue::make_current(nullptr);
  current_reactor = nullptr;
}

Op<> Reactor::sleep(base::Duration duration) {
  Timer timer(*this);
  (void)co_await timer.until(clock_.now() + duration);
}

void Timer::arm(base::TimePoint deadline, std::coroutine_handle<> waiter) {
  base::check(!waiter_, "one waiter per timer");
  fired_ = false;
  waiter_ = waiter;
  armed_ = reactor_.timers_.emplace(deadline, this);
}

void Timer::cancel() {
  if (!waiter_) return;
  reactor_.timers_.erase(armed_);
  reactor_.ready_.push(ReadyItem::of(std::exchange(waiter_, nullptr)));
}

}  // namespace braid::io
