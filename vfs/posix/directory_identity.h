// What identifies a directory of this machine, and the file system that it is on.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "vfs/directory_identity.h"

namespace braid::vfs::posix {

// Of the directory behind `fd` (not O_PATH). `fsid` stands for a file system that has no UUID.
base::Result<DirectoryIdentity> directory_identity(int fd, std::string_view fsid);
// The same of what the path leads to; the errno of opening it.
base::Result<DirectoryIdentity> directory_identity(const std::string& path, std::string_view fsid);

}  // namespace braid::vfs::posix
