#include "vfs/posix/directory_identity.h"

#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/vfs.h>

#include <span>

#include "base/bytes.h"
#include "vfs/posix/kernel.h"
#include "vfs/posix/traits.h"
#include "vfs/posix/uuid.h"
#include "vfs/posix/xfs.h"

namespace braid::vfs::posix {
namespace {

std::string hex_of(base::BytesView bytes) {
  std::string out;
  for (const std::byte one : bytes) fmt::format_to(std::back_inserter(out), "{:02x}", one);
  return out;
}

std::string fsid_text(const struct statfs& status) {
  return hex_of(std::as_bytes(std::span(&status.f_fsid, 1)));
}

// The same on every kernel, so that an export outlives its update: what a newer call would say of one of the
// first three is not asked.
std::string file_system_name(int fd, const struct statfs& status, std::string_view fsid,
                             const std::string& device) {
  const auto magic = static_cast<std::uint32_t>(status.f_type);
  // ext2 to ext4 and tmpfs make f_fsid of their UUID; that of btrfs depends on the subvolume, too.
  if (magic == EXT4_SUPER_MAGIC) return "ext:" + fsid_text(status);
  if (magic == BTRFS_SUPER_MAGIC)
    if (const auto uuid = btrfs_uuid(fd)) return "btrfs:" + hex_of(*uuid);
  if (const auto geometry = xfs_geometry(fd)) return "xfs:" + hex_of(geometry->uuid);
  if (traits_of(magic, {}).in_memory) return fmt::format("memory:{}-{}", fsid_text(status), device);
  if (const auto uuid = file_system_uuid(fd)) return "uuid:" + hex_of(*uuid);
  if (!fsid.empty()) return fmt::format("fsid:{}", fsid);
  return "device:" + device;
}

}  // namespace

base::Result<DirectoryIdentity> directory_identity(int fd, std::string_view fsid) {
  struct statfs status{};
  Stat stat{};
  if (::fstatfs(fd, &status) != 0 || ::statx(fd, "", AT_EMPTY_PATH, STATX_INO, &stat) != 0)
    return base::fail(base::last_errno());
  DirectoryIdentity out;
  out.device = fmt::format("{}:{}", stat.stx_dev_major, stat.stx_dev_minor);
  out.file_system = file_system_name(fd, status, fsid, out.device);
  const auto handle = kernel_handle(fd, "");
  out.directory = handle ? fmt::format("{:x}.{}", handle->type, hex_of(handle->view()))
                         : fmt::format("ino.{}", stat.stx_ino);
  return out;
}

base::Result<DirectoryIdentity> directory_identity(const std::string& path, std::string_view fsid) {
  const base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC));
  if (!fd) return base::fail(base::last_errno());
  return directory_identity(fd.get(), fsid);
}

}  // namespace braid::vfs::posix
