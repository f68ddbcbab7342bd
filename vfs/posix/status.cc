// FSSTAT, FSINFO and PATHCONF.
#include <linux/magic.h>
#include <sys/statvfs.h>

#include <limits>

#include "base/arith.h"
#include "vfs/posix/tree.h"

namespace braid::vfs::posix {
namespace {

std::uint64_t bytes(std::uint64_t blocks, std::uint64_t block_bytes) {
  return base::multiply(blocks, block_bytes).value_or(std::numeric_limits<std::uint64_t>::max());
}

}  // namespace

Outcome<FileSystemStatus> Tree::status(PosixFile& file) {
  struct statvfs now{};
  if (::fstatvfs(file.fd(), &now) != 0) return failed_call();
  return FileSystemStatus{.bytes_total = bytes(now.f_blocks, now.f_frsize),
                          .bytes_free = bytes(now.f_bfree, now.f_frsize),
                          .bytes_available = bytes(now.f_bavail, now.f_frsize),
                          .files_total = now.f_files,
                          .files_free = now.f_ffree,
                          .files_available = now.f_favail};
}

Outcome<FileSystemLimits> Tree::limits(PosixFile& file) {
  struct statvfs now{};
  if (::fstatvfs(file.fd(), &now) != 0) return failed_call();
  const bool fat = root_.magic == MSDOS_SUPER_MAGIC;
  FileSystemLimits out;
  out.file_bytes_max = file_bytes_max(root_.magic, now.f_bsize);
  out.link_max = root_.traits.link_max;
  out.name_bytes_max = static_cast<std::uint32_t>(now.f_namemax);
  out.case_insensitive = fat;
  out.hard_links = !fat;
  out.symlinks = !fat;
  out.clone_block_bytes = root_.features.clone_block_bytes;
  out.xattrs = root_.features.xattrs;
  out.acls = root_.features.acls;
  return out;
}

}  // namespace braid::vfs::posix
