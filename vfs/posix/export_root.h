// How an exported directory is opened, and what the system allows with it.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "vfs/directory_identity.h"
#include "vfs/posix/features.h"
#include "vfs/posix/kernel.h"
#include "vfs/posix/traits.h"

namespace braid::vfs::posix {

struct ExportRoot {
  // Where the private copy of the mount hangs: it must stay open as long as anything below is used. None if
  // the system did not allow a copy.
  base::UniqueFd tree;
  base::UniqueFd fd;           // the directory, O_RDONLY: what handles are opened relative to
  base::UniqueFd descriptors;  // /proc/self/fd, O_PATH
  std::uint64_t magic = 0;     // statfs f_type
  std::uint64_t mount = 0;     // statx stx_mnt_id
  std::uint64_t device = 0;    // of the directory, with its inode
  std::uint64_t inode = 0;
  DirectoryIdentity identity;
  Traits traits;
  Features features;
  std::uint64_t filesystem = 0;  // the same at every start: from the UUID where there is one
  // Why handles cannot outlive this process; empty if they can.
  std::string transient_because;
};

struct ExportRootOptions {
  std::string fsid;                // stands for a file system that has no UUID
  bool private_mount = true;       // false: as on a system that refuses open_tree(2)
  bool persistent_handles = true;  // false: as on a system that refuses open_by_handle_at(2)
};

// The directory is looked up once, following links; later moves of the path do not matter. With a private
// copy of the mount, nothing mounted below is reachable, and ".." ends at the directory whatever is moved
// around.
base::Result<ExportRoot> open_export_root(const std::string& path, const ExportRootOptions& options);

}  // namespace braid::vfs::posix
