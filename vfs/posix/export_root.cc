#include "vfs/posix/export_root.h"

#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/mount.h>
#include <sys/utsname.h>
#include <sys/vfs.h>

#include <cstring>

#include "base/siphash.h"
#include "vfs/posix/directory_identity.h"
#include "vfs/posix/uuid.h"
#include "vfs/posix/xfs.h"

namespace braid::vfs::posix {
namespace {

std::uint64_t hash(base::BytesView bytes) {
  constexpr base::SipKey fixed{0x6272616964206673,
                               0x6964206f66206673};  // part of what fsids mean: never changed
  return base::siphash24(fixed, bytes);
}

// As the names in directory_identity.cc, the same on every kernel: clients do not meet another `fsid` after
// its update.
std::uint64_t filesystem_of(int fd, const struct statfs& status) {
  const auto magic = static_cast<std::uint32_t>(status.f_type);
  const auto f_fsid = std::as_bytes(std::span(&status.f_fsid, 1));
  if (magic == EXT4_SUPER_MAGIC) return hash(f_fsid);
  if (magic == BTRFS_SUPER_MAGIC)
    if (const auto uuid = btrfs_uuid(fd)) return hash(*uuid);
  if (const auto geometry = xfs_geometry(fd)) return hash(geometry->uuid);
  if (const auto uuid = file_system_uuid(fd)) return hash(*uuid);
  return hash(f_fsid);
}

std::string transient_because(const ExportRoot& root) {
  if (!root.tree) return "the system does not allow a private copy of the mount (CAP_SYS_ADMIN)";
  const auto handle = kernel_handle(root.fd.get(), "");
  if (!handle) return "the file system has no file handles";
  const auto opened = open_kernel_handle(root.fd.get(), handle->type, handle->view(), O_PATH);
  if (opened) return {};
  if (opened.error() == Error::perm) return "opening by handle is not permitted (CAP_DAC_READ_SEARCH)";
  return fmt::format("opening by handle fails ({})", name_of(opened.error()));
}

}  // namespace

base::Result<ExportRoot> open_export_root(const std::string& path, const ExportRootOptions& options) {
  ExportRoot root;
  const base::UniqueFd found(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!found) return base::fail(base::last_errno());
  if (options.private_mount)
    root.tree =
        base::UniqueFd(::open_tree(found.get(), "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH));
  const int start = root.tree ? root.tree.get() : found.get();
  root.fd = base::UniqueFd(::openat(start, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root.fd) return base::fail(base::last_errno());
  root.descriptors = base::UniqueFd(::open("/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC));

  struct statfs status{};
  if (::fstatfs(root.fd.get(), &status) != 0) return base::fail(base::last_errno());
  Stat stat{};
  if (::statx(root.fd.get(), "", AT_EMPTY_PATH, STATX_MNT_ID | STATX_INO, &stat) != 0)
    return base::fail(base::last_errno());
  auto identity = directory_identity(root.fd.get(), options.fsid);
  if (!identity) return base::fail(identity.error());
  root.identity = std::move(*identity);
  root.device = device_of(stat);
  root.inode = stat.stx_ino;
  utsname system{};
  ::uname(&system);
  root.magic = static_cast<std::uint32_t>(status.f_type);
  root.mount = stat.stx_mnt_id;
  root.traits = traits_of(root.magic, system.release);
  root.filesystem = filesystem_of(root.fd.get(), status);
  root.features = features_of(root.fd.get(), root.magic, static_cast<std::uint32_t>(status.f_bsize));
  root.transient_because = options.persistent_handles ? transient_because(root) : "asked for";
  return root;
}

}  // namespace braid::vfs::posix
