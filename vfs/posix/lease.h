// Leases on files (fcntl(2), F_SETLEASE), and the signal that says that somebody waits for one or has changed
// what they do not cover.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "vfs/posix/change_watch.h"
#include "vfs/posix/kernel.h"
#include "vfs/posix/open_file.h"

namespace braid::vfs::posix {

// Thread-safe. The kernel tells the holder of a lease by a signal, sent here to one thread that does nothing
// but wait for it and that alone has it blocked; no other thread of the process can get it, whatever its
// mask. The thread starts with the first lease.
class LeaseMonitor {
 public:
  LeaseMonitor() = default;
  ~LeaseMonitor();
  LeaseMonitor(const LeaseMonitor&) = delete;
  LeaseMonitor& operator=(const LeaseMonitor&) = delete;

  // One lease per descriptor. delay: somebody has the file open; nospc and others: too many files are
  // watched.
  Outcome<> take(int fd, LeaseType type, const std::shared_ptr<LeaseNotice>& notice);
  void give_back(int fd);

  // Around a change by the holder itself, which is no news to it. `file` is open on the file.
  void begin_own(const LeaseNotice& notice, int file);
  void end_own(const LeaseNotice& notice, OwnChange kind, int file);

 private:
  struct Watched {
    int type = F_UNLCK;  // F_RDLCK or F_WRLCK
    std::shared_ptr<LeaseNotice> notice;
  };
  // Waits until the thread is ready.
  void start(std::unique_lock<std::mutex>& lock);
  void watch();
  static void tell_if_broken(int fd, const Watched& lease);

  std::mutex mutex_;
  std::condition_variable started_;
  std::map<int, Watched> leases_;
  ChangeWatch changes_;
  pid_t thread_id_ = 0;  // of the waiting thread, once it is ready
  bool stopping_ = false;
  std::thread thread_;
};

// As long as the holder of leases changes the file itself. Nothing, without leases.
class OwnChanges {
 public:
  OwnChanges() = default;
  OwnChanges(LeaseMonitor& monitor, std::shared_ptr<LeaseNotice> own, OwnChange kind, int file);
  ~OwnChanges();
  OwnChanges(OwnChanges&& other) noexcept
      : monitor_(other.monitor_), own_(std::move(other.own_)), kind_(other.kind_), file_(other.file_) {}
  OwnChanges& operator=(OwnChanges&&) = delete;

 private:
  LeaseMonitor* monitor_ = nullptr;
  std::shared_ptr<LeaseNotice> own_;
  OwnChange kind_ = OwnChange::attributes;
  int file_ = -1;  // descriptor
};

// A lease on a description of its file; the monitor must outlive it.
class PosixLease final : public Lease {
 public:
  static Outcome<LeaseRef> take(LeaseMonitor& monitor, std::shared_ptr<PosixOpenFile> open, LeaseType type,
                                std::shared_ptr<LeaseNotice> notice);
  ~PosixLease() override;

 private:
  PosixLease(LeaseMonitor& monitor, std::shared_ptr<PosixOpenFile> open, std::shared_ptr<LeaseNotice> notice)
      : monitor_(monitor), open_(std::move(open)), notice_(std::move(notice)) {}

  LeaseMonitor& monitor_;
  const std::shared_ptr<PosixOpenFile> open_;
  const std::shared_ptr<LeaseNotice> notice_;
};

}  // namespace braid::vfs::posix
