// What the machine is to server processes: disks, entropy, and threads for calls that block. The system calls
// of state directories and io::BlockingPool end up here (system_calls.cc, blocking_pool.cc), so a crash can
// lose what was not synced, and nothing depends on the real machine.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "tests/sim/random.h"
#include "tests/sim/scheduler.h"

namespace braid::sim {

// Files, by their paths below where the disk is mounted. Belongs to one thread.
class Disk {
 public:
  struct File {
    base::Bytes content;
    base::Bytes synced;
  };
  using FileRef = std::shared_ptr<File>;

  // Null: there is none.
  [[nodiscard]] FileRef find(const std::string& name) const;
  FileRef create(const std::string& name);
  bool rename(const std::string& from, const std::string& to);
  bool remove(const std::string& name);
  // In a directory ("", or a path that ends with '/'), directories among them.
  [[nodiscard]] std::vector<std::string> names(const std::string& directory) const;
  // Durable at once, unlike files.
  bool make_directory(const std::string& name) { return directories_.insert(name).second; }
  [[nodiscard]] bool is_directory(const std::string& name) const { return directories_.contains(name); }
  void sync_file(File& file);
  void sync_directory();
  // From now on fsync() does nothing: a disk that lies.
  void lie() { lies_ = true; }
  // From now on remove() does nothing.
  void keep_all() { keeps_all_ = true; }

  // What a crash leaves: synced names and bytes, and as much of the rest as `random` says.
  [[nodiscard]] std::unique_ptr<Disk> after_crash(Random& random) const;

 private:
  using Directory = std::map<std::string, FileRef>;
  Directory now_;
  // Every state of the directory since it was last synced, the synced one first: changes reach the medium in
  // order.
  std::vector<Directory> history_{{}};
  std::set<std::string> directories_;
  bool lies_ = false;
  bool keeps_all_ = false;
};

// The machine that the calling thread simulates; a property of the thread like its reactor.
class Machine {
 public:
  Machine(Scheduler& its_scheduler, const Random& random);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;
  // Null outside of a simulation.
  static Machine* current();

  Scheduler& scheduler;
  Random entropy;
  Random delays;

  // Descriptors, numbered from `first_fd` on.
  static constexpr int first_fd = 1 << 20;
  struct Descriptor {
    std::shared_ptr<Disk> disk;
    Disk::FileRef file;  // null: a directory
    std::string path{};  // of the directory: "", or it ends with '/'
    std::size_t offset = 0;
  };

  // There is one disk from the start on, at `root`. Paths of others are below that; the longest one counts.
  static constexpr std::string_view root = "/simulated";
  using MountIndex = std::size_t;
  MountIndex mount(std::string path);
  // Where a path leads; null: to no disk of this machine. `rest` is the path on that disk.
  [[nodiscard]] std::shared_ptr<Disk> disk_of(std::string_view path, std::string& rest) const;

  [[nodiscard]] const std::shared_ptr<Disk>& disk(MountIndex at = 0) const { return mounts_[at].disk; }
  // Power comes back: open files of the disk as it was are good for nothing.
  void crash(MountIndex at = 0);
  // The power fails in the middle of something: after so many more changes on the disk, and calls `then`.
  void crash_after(std::uint64_t changes, std::function<void()> then, MountIndex at = 0);
  void forget_fuse() { fuse_ = 0; }
  // Before each change. False: the disk of this descriptor is no more.
  bool may_change(const Descriptor& descriptor);

  int open(const std::shared_ptr<Disk>& disk, Disk::FileRef file, std::string path = {});
  // Null: not one of ours. Its disk may be one that is no more.
  [[nodiscard]] Descriptor* descriptor(int fd);
  void close(int fd) { descriptors_.erase(fd); }
  [[nodiscard]] bool alive(const Descriptor& descriptor) const;

 private:
  struct Mount {
    std::string path;
    std::shared_ptr<Disk> disk;
  };
  std::vector<Mount> mounts_;
  std::map<int, Descriptor> descriptors_;
  int next_fd_ = first_fd;
  std::uint64_t fuse_ = 0;  // changes until the power fails, if not 0
  MountIndex fuse_at_ = 0;
  std::function<void()> after_fuse_;
  Random crashes_;
};

}  // namespace braid::sim
