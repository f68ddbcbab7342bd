// The UUID of a file system, as the kernel tells it.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

namespace braid::vfs::posix {

using Uuid = std::array<std::byte, 16>;

// FS_IOC_GETFSUUID (Linux 6.9); nothing on older kernels, or where there is none.
std::optional<Uuid> file_system_uuid(int fd);
// That of btrfs, as every kernel tells it; nothing on other file systems.
std::optional<Uuid> btrfs_uuid(int fd);

}  // namespace braid::vfs::posix
