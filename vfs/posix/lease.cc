#include "vfs/posix/lease.h"

#include <pthread.h>
#include <unistd.h>

#include <csignal>

namespace braid::vfs::posix {
namespace {

int break_signal() { return SIGRTMIN; }

}  // namespace

LeaseMonitor::~LeaseMonitor() {
  {
    std::scoped_lock lock(mutex_);
    if (thread_id_ == 0) return;
    stopping_ = true;
    ::pthread_kill(thread_.native_handle(), break_signal());
  }
  thread_.join();
}

void LeaseMonitor::start(std::unique_lock<std::mutex>& lock) {
  if (thread_id_ != 0) return;
  if (!thread_.joinable()) thread_ = std::thread([this] { watch(); });
  started_.wait(lock, [this] { return thread_id_ != 0; });
  changes_.signal_to(thread_id_, break_signal());
}

Outcome<> LeaseMonitor::take(int fd, LeaseType type, const std::shared_ptr<LeaseNotice>& notice) {
  std::unique_lock lock(mutex_);
  start(lock);
  const int kernel_type = type == LeaseType::write ? F_WRLCK : F_RDLCK;
  // Known before it is taken: it may be broken at once. The lock keeps the thread waiting until we are done.
  if (!leases_.emplace(fd, Watched{kernel_type, notice}).second) return base::fail(Error::inval);
  const f_owner_ex owner{F_OWNER_TID, thread_id_};
  Outcome<> taken = outcome_of(::fcntl(fd, F_SETSIG, break_signal()));
  if (taken) taken = outcome_of(::fcntl(fd, F_SETOWN_EX, &owner));
  if (taken) taken = outcome_of(::fcntl(fd, F_SETLEASE, kernel_type));
  if (taken) {
    taken = changes_.add(fd, type, notice);
    if (!taken) ::fcntl(fd, F_SETLEASE, F_UNLCK);
  }
  if (!taken) leases_.erase(fd);
  return taken;
}

void LeaseMonitor::give_back(int fd) {
  std::scoped_lock lock(mutex_);
  const auto found = leases_.find(fd);
  if (found == leases_.end()) return;
  changes_.remove(*found->second.notice);
  leases_.erase(found);
  ::fcntl(fd, F_SETLEASE, F_UNLCK);
}

void LeaseMonitor::begin_own(const LeaseNotice& notice, int file) {
  const auto now = stat_of(file);
  std::scoped_lock lock(mutex_);
  changes_.begin_own(notice, now ? now->stx_nlink : 0);
}

void LeaseMonitor::end_own(const LeaseNotice& notice, OwnChange kind, int file) {
  std::scoped_lock lock(mutex_);
  changes_.read();
  const auto now = stat_of(file);
  changes_.end_own(notice, kind, now ? now->stx_nlink : 0);
}

// The kernel says what a broken lease has to become. That also rules out a signal for an earlier lease whose
// descriptor had the same number.
void LeaseMonitor::tell_if_broken(int fd, const Watched& lease) {
  if (::fcntl(fd, F_GETLEASE) != lease.type) lease.notice->tell();
}

void LeaseMonitor::watch() {
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, break_signal());
  // In its place when the kernel's queue of signals is full; it does not name a descriptor.
  ::sigaddset(&signals, SIGIO);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  {
    std::scoped_lock lock(mutex_);
    thread_id_ = ::gettid();
  }
  started_.notify_all();
  for (;;) {
    siginfo_t info{};
    const int signal = ::sigwaitinfo(&signals, &info);
    std::scoped_lock lock(mutex_);
    if (stopping_) return;
    if (signal == break_signal()) {
      if (info.si_fd == changes_.fd())
        changes_.read();
      else if (const auto found = leases_.find(info.si_fd); found != leases_.end())
        tell_if_broken(found->first, found->second);
    } else if (signal == SIGIO) {
      for (const auto& [fd, lease] : leases_) tell_if_broken(fd, lease);
      changes_.read();
    }
  }
}

OwnChanges::OwnChanges(LeaseMonitor& monitor, std::shared_ptr<LeaseNotice> own, OwnChange kind, int file)
    : monitor_(&monitor), own_(std::move(own)), kind_(kind), file_(file) {
  monitor.begin_own(*own_, file_);
}

OwnChanges::~OwnChanges() {
  if (own_ != nullptr) monitor_->end_own(*own_, kind_, file_);
}

Outcome<LeaseRef> PosixLease::take(LeaseMonitor& monitor, std::shared_ptr<PosixOpenFile> open, LeaseType type,
                                   std::shared_ptr<LeaseNotice> notice) {
  if (type == LeaseType::read && open->access() != OpenAccess::read) return base::fail(Error::inval);
  if (auto taken = monitor.take(open->fd(), type, notice); !taken) return base::fail(taken.error());
  open->node().hold([&](Holdings& held) { held.leases.push_back(notice); });
  return LeaseRef(new PosixLease(monitor, std::move(open), std::move(notice)));
}

PosixLease::~PosixLease() {
  monitor_.give_back(open_->fd());
  open_->node().hold([&](Holdings& held) { std::erase(held.leases, notice_); });
  notice_->withdraw();
}

}  // namespace braid::vfs::posix
