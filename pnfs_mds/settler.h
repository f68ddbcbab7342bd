// Files that are dirty become clean, whether somebody looks at them or not; so do truncations that a run
// before did not finish.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "pnfs/data_handle.h"
#include "pnfs_mds/cluster.h"
#include "pnfs_mds/dirty_log.h"
#include "vfs/file.h"
#include "vfs/file_system.h"
#include "vfs/open_file.h"

namespace braid::pnfs_mds {

// Belongs to one thread, on a reactor. The cluster outlives it.
class Settler {
 public:
  struct Reached {
    std::shared_ptr<vfs::FileSystem> file_system;
    vfs::FileRef file;
  };
  // Finds the file of a stub. stale: there is none any more; else it is not to be had now.
  using Reach = std::function<vfs::VfsOp<Reached>(vfs::FileHandle file)>;

  // `stopped`: work() is to end soon.
  Settler(Cluster& cluster, Reach reach, std::function<bool()> stopped)
      : cluster_(cluster), reach_(std::move(reach)), stopped_(std::move(stopped)) {}

  // Looks at all of them once: settles those that are not, and syncs the stubs of those of which nothing was
  // said since the call before. A file that is written to all the time stays dirty, and so does one of which
  // somebody has a layout for writing: what is written next costs no sync. One call at a time.
  vfs::VfsOp<> work();

 private:
  vfs::VfsOp<> finish(Truncations::Known truncation);
  // `file.settled` on return: its stub is on the medium, as of its version.
  vfs::VfsOp<> settle(DirtyLog::Known& file);

  Cluster& cluster_;
  const Reach reach_;
  const std::function<bool()> stopped_;
};

}  // namespace braid::pnfs_mds
