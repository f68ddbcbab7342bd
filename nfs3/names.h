// Rules for names that clients send, before a file system sees them.
#pragma once

#include <string_view>

#include "base/result.h"
#include "vfs/types.h"

namespace braid::nfs3 {

// What a name is about to be used for: it decides what "." and ".." mean.
enum class NameUse {
  lookup,  // LOOKUP: both are names like any other
  create,  // CREATE, MKDIR, SYMLINK, MKNOD, LINK: both exist already
  remove,  // REMOVE: both are refused
  rmdir,   // RMDIR: RFC 1813 3.3.13 has an error for each
  rename,  // RENAME, either name: both are refused
};

// RFC 1813 3.2: empty is acces; with '/' or NUL inval; above NAME_MAX nametoolong. Bytes mean nothing else:
// invalid UTF-8 is a name too.
base::Result<void, vfs::Error> check_name(std::string_view name, NameUse use);

// The content of a symbolic link: empty or with NUL inval; at PATH_MAX or above nametoolong.
base::Result<void, vfs::Error> check_link_target(std::string_view target);

}  // namespace braid::nfs3
