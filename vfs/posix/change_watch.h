// Changes of names and attributes that leases do not tell of (inotify(7)).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/unique_fd.h"
#include "vfs/open_file.h"
#include "vfs/posix/file.h"
#include "vfs/posix/kernel.h"

namespace braid::vfs::posix {

// What the holder of a lease itself does to the file.
enum class OwnChange : std::uint8_t {
  attributes,  // its number of names stays the same
  names,
  // By the file's content: record, size and times of the stub. That is news to none of those who have a
  // lease.
  stub,
};

// Tells those who have a lease on a file that it was renamed, replaced, removed or linked, or that its
// attributes have changed; those who have one on a directory, too, that entries came or went. Each is told
// once. Not thread-safe.
class ChangeWatch {
 public:
  // The kernel's signal `number` goes to this thread when there is something to read(), once there is a
  // watch.
  void signal_to(pid_t thread, int number) {
    thread_ = thread;
    signal_ = number;
  }
  // Negative before the first watch.
  [[nodiscard]] int fd() const { return inotify_.get(); }

  // Of the file behind `file`, from now on. nospc and others: the system has no more watches
  // (/proc/sys/fs/inotify).
  Outcome<> add(int file, LeaseType type, const std::shared_ptr<LeaseNotice>& notice);
  // The same. Nothing is said of a directory that is removed while a descriptor of it is open.
  Outcome<> add_directory(int directory, const std::shared_ptr<LeaseNotice>& notice);
  void remove(const LeaseNotice& notice);
  // Takes all that the kernel has to say by now.
  void read();

  // What happens in between is the holder's own doing, as far as that can be; unless somebody else has a
  // lease on the file as well. `links`: how many names the file had before begin_own(), and has after a
  // read() when it is over.
  void begin_own(const LeaseNotice& notice, std::uint64_t links);
  void end_own(const LeaseNotice& notice, OwnChange kind, std::uint64_t links);
  // The same, for a change of one entry of a directory.
  void begin_own_entry(const LeaseNotice& notice, std::string_view name);
  void end_own_entry(const LeaseNotice& notice, std::string_view name);

 private:
  struct Watched {
    std::vector<std::shared_ptr<LeaseNotice>> notices;
    std::uint32_t own = 0;    // changes of holders under way
    std::uint32_t seen = 0;   // meanwhile: IN_ATTRIB ...
    std::uint64_t links = 0;  // before
    // Of a directory: the entries that holders are changing.
    std::vector<std::string> own_entries;
  };
  using Watches = std::map<int, Watched>;

  Outcome<> open();
  Outcome<> watch(int file, std::uint32_t mask, const std::shared_ptr<LeaseNotice>& notice);
  [[nodiscard]] Watches::iterator find(const LeaseNotice& notice);
  // `entry`: of the directory that is watched, if it happened to that.
  void happened(int watch, std::uint32_t mask, std::string_view entry);
  void entry_changed(Watches::iterator watched, std::uint32_t mask, std::string_view name);
  void tell(Watches::iterator watched);
  void end_watch(Watches::iterator watched);

  base::UniqueFd inotify_;
  pid_t thread_ = 0;
  int signal_ = 0;
  Watches watches_;  // by the kernel's number
  std::unordered_map<const LeaseNotice*, int> numbers_;
};

}  // namespace braid::vfs::posix
