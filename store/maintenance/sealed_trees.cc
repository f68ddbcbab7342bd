#include "store/maintenance/sealed_trees.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <filesystem>
#include <fstream>

#include "store/recipes/record.h"
#include "vfs/posix/directory_identity.h"
#include "vfs/posix/kernel.h"

namespace braid::store {
namespace {

// A descriptor that says where a file is: it breaks no lease, and no delegation with it.
vfs::posix::Outcome<base::UniqueFd> place_of(int tree, const KernelHandle& file) {
  return vfs::posix::open_kernel_handle(tree, file.type, file.view(), O_PATH | O_CLOEXEC);
}

// The kernel says of an inode that cannot be read that it is stale. ext4 counts what it could not read.
std::uint64_t errors_of_ext4(int directory) {
  struct stat status{};
  if (::fstat(directory, &status) != 0) return 0;
  std::error_code error;
  const std::filesystem::path device = std::filesystem::read_symlink(
      fmt::format("/sys/dev/block/{}:{}", ::major(status.st_dev), ::minor(status.st_dev)), error);
  std::ifstream file("/sys/fs/ext4/" + device.filename().string() + "/errors_count");
  std::uint64_t out = 0;
  return !error && file >> out ? out : 0;
}

// Whether the file system still writes: one that failed answers much from its memory.
std::string why_not_well(int directory) {
  struct statvfs status{};
  if (::fstatvfs(directory, &status) != 0) return base::message_of(base::last_errno());
  if ((status.f_flag & ST_RDONLY) != 0)
    return "it is read-only: what was written to it last may not be on its medium";
  if (errors_of_ext4(directory) > 0) return "ext4 has found errors in it: e2fsck is to be run";
  const base::UniqueFd probe(::openat(directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!probe && (errno == ENOSPC || errno == EDQUOT)) return {};
  if (!probe || ::fsync(probe.get()) != 0) return base::message_of(base::last_errno());
  return {};
}

}  // namespace

OpenTrees open_trees(Store& store) {
  OpenTrees out;
  const auto trees = store.trees();
  out.lost = !trees.has_value();
  if (out.lost) return out;
  for (const Tree& tree : *trees) {
    if (tree.forgotten()) continue;
    base::UniqueFd fd(::open(tree.path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const auto identity = fd ? vfs::posix::directory_identity(fd.get(), "")
                             : base::Result<vfs::DirectoryIdentity>(base::fail(base::last_errno()));
    if (identity && identity->file_system == tree.file_system)
      out.all.emplace(tree.number, OpenTrees::One{std::move(fd), tree.path});
    else
      out.missing.push_back(
          fmt::format("the files of {}: {}", tree.path,
                      identity ? "another file system is there" : base::message_of(identity.error())));
  }
  return out;
}

base::Result<std::optional<base::Bytes>> PosixTrees::record_of(std::uint32_t tree, const KernelHandle& file) {
  const auto found = trees_.all.find(tree);
  if (found == trees_.all.end()) return base::fail(ENXIO);
  const auto place = place_of(found->second.fd.get(), file);
  if (!place && place.error() == vfs::Error::stale) return std::nullopt;
  if (!place) return base::fail(EIO);
  base::Bytes out(File::attribute_bytes_max);
  const ssize_t size =
      ::getxattr(vfs::posix::path_of(place->get()).c_str(), record_name, out.data(), out.size());
  if (size < 0 && errno == ENODATA) return std::nullopt;
  if (size < 0) return base::fail(base::last_errno());
  out.resize(static_cast<std::size_t>(size));
  return out;
}

std::string PosixTrees::sync() {
  for (const auto& [number, tree] : trees_.all) {
    if (::syncfs(tree.fd.get()) != 0)
      return fmt::format("the files of {}: {}", tree.path, base::message_of(base::last_errno()));
    if (std::string why = why_not_well(tree.fd.get()); !why.empty())
      return fmt::format("the files of {}: {}", tree.path, why);
  }
  return {};
}

std::string PosixTrees::name_of(std::uint32_t tree, const KernelHandle& file) {
  const auto found = trees_.all.find(tree);
  if (found == trees_.all.end())
    return trees_.missing.empty() ? fmt::format("a file of tree {}", tree) : trees_.missing.front();
  const auto place = place_of(found->second.fd.get(), file);
  std::array<char, PATH_MAX> buffer{};
  const ssize_t size =
      place ? ::readlink(vfs::posix::path_of(place->get()).c_str(), buffer.data(), buffer.size()) : -1;
  return size > 0 ? std::string(buffer.data(), static_cast<std::size_t>(size))
                  : fmt::format("a file of {}", found->second.path);
}

}  // namespace braid::store
