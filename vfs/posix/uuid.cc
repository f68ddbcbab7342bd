#include "vfs/posix/uuid.h"

#include <sys/ioctl.h>

#include <cstdint>

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

}  // namespace braid::vfs::posix
