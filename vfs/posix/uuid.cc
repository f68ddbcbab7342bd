#include "vfs/posix/uuid.h"

#include <linux/btrfs.h>
#include <sys/ioctl.h>

#include <cstdint>
#include <cstring>

namespace braid::vfs::posix {
namespace {

// Newer than the headers.
struct FsUuid {
  std::uint8_t length;
  Uuid uuid;
};
constexpr unsigned long get_fs_uuid = _IOR(0x15, 0, FsUuid);

}  // namespace

std::optional<Uuid> file_system_uuid(int fd) {
  FsUuid named{};
  if (::ioctl(fd, get_fs_uuid, &named) != 0 || named.length != sizeof(Uuid)) return std::nullopt;
  return named.uuid;
}

std::optional<Uuid> btrfs_uuid(int fd) {
  btrfs_ioctl_fs_info_args info{};
  if (::ioctl(fd, BTRFS_IOC_FS_INFO, &info) != 0) return std::nullopt;
  Uuid uuid;
  static_assert(sizeof info.fsid == sizeof uuid);
  std::memcpy(uuid.data(), info.fsid, sizeof uuid);
  return uuid;
}

}  // namespace braid::vfs::posix
