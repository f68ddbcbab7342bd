// Leases on files (fcntl(2), F_SETLEASE) and on directories, and the signal that says that somebody waits for
// one or has changed what they do not cover.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "vfs/posix/cache.h"
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

  // Read leases by one descriptor are one to the kernel; inval: of a write lease that is there. delay:
  // somebody has the file open; nospc and others: too many files are watched.
  Outcome<> take(int fd, LeaseType type, const std::shared_ptr<LeaseNotice>& notice);
  void give_back(int fd, const LeaseNotice& notice);

  // Runs `work`, which does not block for long, while the kernel does not see these leases on a file. Who
  // opens the file in a way that conflicts meanwhile has the lease told, if it is not over by then.
  Outcome<> without(const std::vector<std::shared_ptr<LeaseNotice>>& leases,
                    const std::function<Outcome<>()>& work);

  // Whether this descriptor is the only one of its file, by which it can be written to: nobody else has it
  // open, in whatever way, or whoever wants to waits for the write lease that is there.
  bool is_only(int fd);

  // The kernel has no leases on directories for us: one is watched, and those who change it through this
  // server look at its Holdings before. `directory` is open until unwatch().
  Outcome<> watch_directory(int directory, const std::shared_ptr<LeaseNotice>& notice);
  void unwatch_directory(const LeaseNotice& notice);
  // Tells those whose directory a local process has removed, of which the kernel says nothing as long as it
  // is open here. Looks at some of them in each call, in turn.
  void look_for_removed();

  // Around a change by the holder itself, which is no news to it. `file` is open on the file.
  void begin_own(const LeaseNotice& notice, int file);
  void end_own(const LeaseNotice& notice, OwnChange kind, int file);
  // The same, for a change of one entry of a directory.
  void begin_own_entry(const LeaseNotice& notice, std::string_view name);
  void end_own_entry(const LeaseNotice& notice, std::string_view name);

 private:
  static constexpr std::size_t looks_max = 256;  // of one look_for_removed(): a fraction of a millisecond

  struct Watched {
    int type = F_UNLCK;  // F_RDLCK or F_WRLCK
    std::shared_ptr<LeaseNotice> notice;
  };
  // Waits until the thread is ready.
  void start(std::unique_lock<std::mutex>& lock);
  void watch();
  // For a lease of this kernel's type, told to the thread.
  [[nodiscard]] Outcome<> ask_kernel(int fd, int type) const;
  // The same if nobody has one by this descriptor; delay: it is being broken, or of the other type; inval.
  [[nodiscard]] Outcome<> ask_kernel_once(int fd, int type) const;
  void tell_if_broken(int fd);

  std::mutex mutex_;
  std::condition_variable started_;
  std::multimap<int, Watched> leases_;
  struct Directory {
    int fd = -1;
    std::shared_ptr<LeaseNotice> notice;
  };
  std::map<const LeaseNotice*, Directory> directories_;
  const LeaseNotice* looked_at_ = nullptr;  // the last one; it may be gone
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
  // Of this entry of a directory.
  OwnChanges(LeaseMonitor& monitor, std::shared_ptr<LeaseNotice> own, std::string_view entry);
  ~OwnChanges();
  OwnChanges(OwnChanges&& other) noexcept
      : monitor_(other.monitor_),
        own_(std::move(other.own_)),
        kind_(other.kind_),
        file_(other.file_),
        entry_(std::move(other.entry_)) {}
  OwnChanges& operator=(OwnChanges&&) = delete;

 private:
  LeaseMonitor* monitor_ = nullptr;
  std::shared_ptr<LeaseNotice> own_;
  OwnChange kind_ = OwnChange::attributes;
  int file_ = -1;      // descriptor
  std::string entry_;  // empty: of the file itself
};

// A lease on a description of its file; the monitor must outlive it.
class PosixLease final : public Lease {
 public:
  // What has the descriptor of the open stay.
  struct Kept {
    FileRef file;
    std::optional<HeldDescriptors> held;
  };
  // The descriptor is there (Tree::share_all()).
  static Outcome<LeaseRef> take(LeaseMonitor& monitor, std::shared_ptr<PosixOpenFile> open, Kept kept,
                                LeaseType type, std::shared_ptr<LeaseNotice> notice);
  ~PosixLease() override;
  [[nodiscard]] FileRef file() const override { return kept_.file; }

 private:
  PosixLease(LeaseMonitor& monitor, std::shared_ptr<PosixOpenFile> open, Kept kept,
             std::shared_ptr<LeaseNotice> notice)
      : monitor_(monitor), open_(std::move(open)), kept_(std::move(kept)), notice_(std::move(notice)) {}

  LeaseMonitor& monitor_;
  const std::shared_ptr<PosixOpenFile> open_;
  const Kept kept_;
  const std::shared_ptr<LeaseNotice> notice_;
};

// A lease on a directory, which it keeps open: counted like an open. Monitor and cache must outlive it.
class DirectoryLease final : public Lease {
 public:
  // `owner`: the file system, which stays as long as this.
  static Outcome<LeaseRef> take(std::shared_ptr<const void> owner, LeaseMonitor& monitor, FileCache& cache,
                                FileRef directory, std::shared_ptr<LeaseNotice> notice);
  ~DirectoryLease() override;
  [[nodiscard]] FileRef file() const override { return directory_; }

 private:
  DirectoryLease(std::shared_ptr<const void> owner, LeaseMonitor& monitor, FileCache& cache,
                 FileRef directory, DescriptorSlot slot, std::shared_ptr<LeaseNotice> notice)
      : owner_(std::move(owner)),
        monitor_(monitor),
        cache_(cache),
        slot_(std::move(slot)),
        directory_(std::move(directory)),
        notice_(std::move(notice)) {}
  [[nodiscard]] PosixFile& node() const { return static_cast<PosixFile&>(*directory_); }

  const std::shared_ptr<const void> owner_;  // ends last
  LeaseMonitor& monitor_;
  FileCache& cache_;
  const DescriptorSlot slot_;
  const FileRef directory_;
  const std::shared_ptr<LeaseNotice> notice_;
};

}  // namespace braid::vfs::posix
