#include "vfs/posix/features.h"

#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/xattr.h>

#include <cerrno>

#include "vfs/posix/xfs.h"

namespace braid::vfs::posix {
namespace {

constexpr unsigned long get_xfs_geometry = _IOR('X', 100, XfsGeometry);

// Whatever else is wrong with this name here, the file system knows the kind.
bool knows(int directory, const char* name) {
  return ::fgetxattr(directory, name, nullptr, 0) >= 0 || (errno != EOPNOTSUPP && errno != ENOSYS);
}

std::uint32_t clone_block_bytes(int directory, std::uint64_t magic, std::uint32_t block_bytes) {
  if (magic == BTRFS_SUPER_MAGIC) return block_bytes;
  const auto geometry = xfs_geometry(directory);
  return geometry && geometry->reflinks() ? geometry->block_bytes : 0;
}

}  // namespace

std::optional<XfsGeometry> xfs_geometry(int fd) {
  XfsGeometry out{};
  if (::ioctl(fd, get_xfs_geometry, &out) != 0) return std::nullopt;
  return out;
}

Features features_of(int directory, std::uint64_t magic, std::uint32_t block_bytes) {
  return {.clone_block_bytes = clone_block_bytes(directory, magic, block_bytes),
          .xattrs = knows(directory, "user.braid"),
          .acls = knows(directory, "system.posix_acl_access")};
}

}  // namespace braid::vfs::posix
