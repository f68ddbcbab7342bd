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

Outcome<> LeaseMonitor::take(int fd, int type, std::shared_ptr<LeaseNotice> notice) {
  std::unique_lock lock(mutex_);
  if (thread_id_ == 0) {
    if (!thread_.joinable()) thread_ = std::thread([this] { watch(); });
    started_.wait(lock, [this] { return thread_id_ != 0; });
  }
  // Known before it is taken: it may be broken at once. The lock keeps the thread waiting until we are done.
  if (!leases_.emplace(fd, Watched{type, std::move(notice)}).second) return base::fail(Error::inval);
  const f_owner_ex owner{F_OWNER_TID, thread_id_};
  Outcome<> taken = outcome_of(::fcntl(fd, F_SETSIG, break_signal()));
  if (taken) taken = outcome_of(::fcntl(fd, F_SETOWN_EX, &owner));
  if (taken) taken = outcome_of(::fcntl(fd, F_SETLEASE, type));
  if (!taken) leases_.erase(fd);
  return taken;
}

void LeaseMonitor::give_back(int fd) {
  std::scoped_lock lock(mutex_);
  if (leases_.erase(fd) != 0) ::fcntl(fd, F_SETLEASE, F_UNLCK);
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
      if (const auto found = leases_.find(info.si_fd); found != leases_.end())
        tell_if_broken(found->first, found->second);
    } else if (signal == SIGIO) {
      for (const auto& [fd, lease] : leases_) tell_if_broken(fd, lease);
    }
  }
}

Outcome<LeaseRef> PosixLease::take(LeaseMonitor& monitor, std::shared_ptr<PosixOpenFile> open, LeaseType type,
                                   std::shared_ptr<LeaseNotice> notice) {
  if (type == LeaseType::read && open->access() != OpenAccess::read) return base::fail(Error::inval);
  const int kernel_type = type == LeaseType::write ? F_WRLCK : F_RDLCK;
  if (auto taken = monitor.take(open->fd(), kernel_type, notice); !taken) return base::fail(taken.error());
  open->node().hold([&](Holdings& held) { held.leases.push_back(notice); });
  return LeaseRef(new PosixLease(monitor, std::move(open), std::move(notice)));
}

PosixLease::~PosixLease() {
  monitor_.give_back(open_->fd());
  open_->node().hold([&](Holdings& held) { std::erase(held.leases, notice_); });
  notice_->withdraw();
}

}  // namespace braid::vfs::posix
