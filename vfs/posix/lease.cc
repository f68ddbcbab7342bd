#include "vfs/posix/lease.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
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

// The kernel forgets whom to tell when a lease ends.
Outcome<> LeaseMonitor::ask_kernel(int fd, int type) const {
  const f_owner_ex owner{F_OWNER_TID, thread_id_};
  Outcome<> done = outcome_of(::fcntl(fd, F_SETSIG, break_signal()));
  if (done) done = outcome_of(::fcntl(fd, F_SETOWN_EX, &owner));
  if (done) done = outcome_of(::fcntl(fd, F_SETLEASE, type));
  return done;
}

Outcome<> LeaseMonitor::ask_kernel_once(int fd, int type) const {
  if (leases_.count(fd) <= 1) return ask_kernel(fd, type);
  if (type == F_WRLCK) return base::fail(Error::inval);
  if (::fcntl(fd, F_GETLEASE) != type) return base::fail(Error::delay);
  return {};
}

Outcome<> LeaseMonitor::take(int fd, LeaseType type, const std::shared_ptr<LeaseNotice>& notice) {
  std::unique_lock lock(mutex_);
  start(lock);
  const int kernel_type = type == LeaseType::write ? F_WRLCK : F_RDLCK;
  // Known before it is taken: it may be broken at once. The lock keeps the thread waiting until we are done.
  const auto added = leases_.emplace(fd, Watched{kernel_type, notice});
  Outcome<> taken = ask_kernel_once(fd, kernel_type);
  if (taken) {
    taken = changes_.add(fd, type, notice);
    if (!taken && leases_.count(fd) == 1) ::fcntl(fd, F_SETLEASE, F_UNLCK);
  }
  if (!taken) leases_.erase(added);
  return taken;
}

void LeaseMonitor::give_back(int fd, const LeaseNotice& notice) {
  std::scoped_lock lock(mutex_);
  const auto [first, last] = leases_.equal_range(fd);
  const auto found =
      std::find_if(first, last, [&](const auto& lease) { return lease.second.notice.get() == &notice; });
  if (found == last) return;
  changes_.remove(notice);
  leases_.erase(found);
  if (!leases_.contains(fd)) ::fcntl(fd, F_SETLEASE, F_UNLCK);
}

Outcome<> LeaseMonitor::without(const std::vector<std::shared_ptr<LeaseNotice>>& leases,
                                const std::function<Outcome<>()>& work) {
  std::scoped_lock lock(mutex_);
  const auto each = [&](const auto& f) {
    for (const auto& [fd, lease] : leases_)
      if (std::ranges::find(leases, lease.notice) != leases.end()) f(fd, lease);
  };
  each([](int fd, const Watched&) { ::fcntl(fd, F_SETLEASE, F_UNLCK); });
  Outcome<> done = work();
  each([this](int fd, const Watched& lease) {
    if (!ask_kernel(fd, lease.type)) lease.notice->tell();
  });
  return done;
}

// A write lease is not to be had otherwise. It is given back at once; the signal of who comes in this moment
// is one that is ignored.
bool LeaseMonitor::is_only(int fd) {
  std::scoped_lock lock(mutex_);
  if (leases_.contains(fd)) return ::fcntl(fd, F_GETLEASE) == F_WRLCK;
  if (::fcntl(fd, F_SETSIG, SIGURG) != 0 || ::fcntl(fd, F_SETLEASE, F_WRLCK) != 0) return false;
  (void)::fcntl(fd, F_SETLEASE, F_UNLCK);
  return true;
}

Outcome<> LeaseMonitor::watch_directory(int directory, const std::shared_ptr<LeaseNotice>& notice) {
  std::unique_lock lock(mutex_);
  start(lock);
  if (auto watched = changes_.add_directory(directory, notice); !watched) return watched;
  directories_.emplace(notice.get(), Directory{directory, notice});
  return {};
}

void LeaseMonitor::unwatch_directory(const LeaseNotice& notice) {
  std::scoped_lock lock(mutex_);
  changes_.remove(notice);
  directories_.erase(&notice);
}

void LeaseMonitor::look_for_removed() {
  std::scoped_lock lock(mutex_);
  const std::size_t looks = std::min(looks_max, directories_.size());
  auto next = directories_.upper_bound(looked_at_);
  for (std::size_t i = 0; i < looks; ++i) {
    if (next == directories_.end()) next = directories_.begin();
    const auto now = stat_of(next->second.fd);
    if (now && now->stx_nlink == 0) next->second.notice->tell();
    looked_at_ = next->first;
    ++next;
  }
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

void LeaseMonitor::begin_own_entry(const LeaseNotice& notice, std::string_view name) {
  std::scoped_lock lock(mutex_);
  changes_.begin_own_entry(notice, name);
}

void LeaseMonitor::end_own_entry(const LeaseNotice& notice, std::string_view name) {
  std::scoped_lock lock(mutex_);
  changes_.end_own_entry(notice, name);
}

// The kernel says what a broken lease has to become. That also rules out a signal for an earlier lease whose
// descriptor had the same number.
void LeaseMonitor::tell_if_broken(int fd) {
  const auto [first, last] = leases_.equal_range(fd);
  if (first == last || ::fcntl(fd, F_GETLEASE) == first->second.type) return;
  for (auto lease = first; lease != last; ++lease) lease->second.notice->tell();
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
      else
        tell_if_broken(info.si_fd);
    } else if (signal == SIGIO) {
      for (auto at = leases_.begin(); at != leases_.end(); at = leases_.upper_bound(at->first))
        tell_if_broken(at->first);
      changes_.read();
    }
  }
}

OwnChanges::OwnChanges(LeaseMonitor& monitor, std::shared_ptr<LeaseNotice> own, OwnChange kind, int file)
    : monitor_(&monitor), own_(std::move(own)), kind_(kind), file_(file) {
  monitor.begin_own(*own_, file_);
}

OwnChanges::OwnChanges(LeaseMonitor& monitor, std::shared_ptr<LeaseNotice> own, std::string_view entry)
    : monitor_(&monitor), own_(std::move(own)), entry_(entry) {
  monitor.begin_own_entry(*own_, entry_);
}

OwnChanges::~OwnChanges() {
  if (own_ == nullptr) return;
  if (entry_.empty())
    monitor_->end_own(*own_, kind_, file_);
  else
    monitor_->end_own_entry(*own_, entry_);
}

Outcome<LeaseRef> PosixLease::take(LeaseMonitor& monitor, std::shared_ptr<PosixOpenFile> open, Kept kept,
                                   LeaseType type, std::shared_ptr<LeaseNotice> notice) {
  if (type == LeaseType::read && open->access() != OpenAccess::read) return base::fail(Error::inval);
  if (auto taken = monitor.take(open->fd(), type, notice); !taken) return base::fail(taken.error());
  // The kernel sees no second open that shares the description.
  const bool alone = open->node().hold([&](Holdings& held) {
    if (type == LeaseType::write && !held.opens.one()) return false;
    held.kept().leases.push_back(notice);
    return true;
  });
  if (!alone) {
    monitor.give_back(open->fd(), *notice);
    return base::fail(Error::delay);
  }
  return LeaseRef(new PosixLease(monitor, std::move(open), std::move(kept), std::move(notice)));
}

PosixLease::~PosixLease() {
  monitor_.give_back(open_->fd(), *notice_);
  open_->node().hold([&](Holdings& held) { std::erase(held.kept().leases, notice_); });
  notice_->withdraw();
}

Outcome<LeaseRef> DirectoryLease::take(std::shared_ptr<const void> owner, LeaseMonitor& monitor,
                                       FileCache& cache, FileRef directory,
                                       std::shared_ptr<LeaseNotice> notice) {
  auto& node = static_cast<PosixFile&>(*directory);
  auto slot = cache.reserve_to_keep();
  if (!slot) return base::fail(Error::too_many_open_files);
  if (auto watched = monitor.watch_directory(node.fd(), notice); !watched) return base::fail(watched.error());
  node.hold([&](Holdings& held) { held.kept().leases.push_back(notice); });
  return LeaseRef(new DirectoryLease(std::move(owner), monitor, cache, std::move(directory), std::move(*slot),
                                     std::move(notice)));
}

DirectoryLease::~DirectoryLease() {
  monitor_.unwatch_directory(*notice_);
  const bool forget = node().hold([&](Holdings& held) {
    std::erase(held.kept().leases, notice_);
    return !held.leased() && held.nameless;
  });
  notice_->withdraw();
  if (forget) cache_.drop(node());
}

}  // namespace braid::vfs::posix
