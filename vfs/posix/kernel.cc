#include "vfs/posix/kernel.h"

#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <climits>

namespace braid::vfs::posix {
namespace {

#ifndef SYS_fchmodat2
constexpr long SYS_fchmodat2 = 452;
#endif

constexpr unsigned stat_mask = STATX_BASIC_STATS | STATX_BTIME;

Time time_of(const statx_timestamp& time) { return {time.tv_sec, time.tv_nsec}; }

// file_handle(2) with room for the largest body.
struct HandleRoom {
  alignas(struct file_handle)
      std::array<std::byte, sizeof(struct file_handle) + HandleCodec::body_bytes_max> bytes;

  struct file_handle* get() { return reinterpret_cast<struct file_handle*>(bytes.data()); }
  std::byte* body() { return bytes.data() + offsetof(struct file_handle, f_handle); }
};

}  // namespace

Outcome<Name> Name::of(std::string_view text) {
  if (text.empty()) return base::fail(Error::inval);
  if (text.size() > NAME_MAX) return base::fail(Error::nametoolong);
  if (std::ranges::any_of(text, [](char c) { return c == '/' || c == '\0'; }))
    return base::fail(Error::inval);
  Name name;
  *std::ranges::copy(text, name.text_.begin()).out = '\0';
  name.size_ = text.size();
  return name;
}

Outcome<Stat> stat_of(int fd) {
  Outcome<Stat> stat(std::in_place);
  if (::statx(fd, "", AT_EMPTY_PATH, stat_mask, &*stat) != 0) return failed_call();
  return stat;
}

Outcome<Stat> stat_at(int directory, const char* name) {
  Outcome<Stat> stat(std::in_place);
  if (::statx(directory, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, stat_mask | STATX_MNT_ID, &*stat) != 0)
    return failed_call();
  return stat;
}

FileType type_of(const Stat& stat) {
  switch (stat.stx_mode & S_IFMT) {
    case S_IFDIR:
      return FileType::directory;
    case S_IFLNK:
      return FileType::symlink;
    case S_IFBLK:
      return FileType::block_device;
    case S_IFCHR:
      return FileType::character_device;
    case S_IFIFO:
      return FileType::fifo;
    case S_IFSOCK:
      return FileType::socket;
    default:
      return FileType::regular;
  }
}

Attributes attributes_of(const Stat& stat, std::uint64_t fsid) {
  Attributes out;
  out.type = type_of(stat);
  out.mode = stat.stx_mode & 07777U;
  out.nlink = stat.stx_nlink;
  out.uid = stat.stx_uid;
  out.gid = stat.stx_gid;
  out.size = stat.stx_size;
  out.space = stat.stx_blocks * 512;
  out.rdev = {stat.stx_rdev_major, stat.stx_rdev_minor};
  out.fsid = fsid;
  out.fileid = stat.stx_ino;
  out.block_bytes = stat.stx_blksize;
  out.atime = time_of(stat.stx_atime);
  out.mtime = time_of(stat.stx_mtime);
  out.ctime = time_of(stat.stx_ctime);
  out.change = nanoseconds_of(out.ctime);
  if ((stat.stx_mask & STATX_BTIME) != 0) out.btime = time_of(stat.stx_btime);
  return out;
}

Time ctime_of(const Stat& stat) { return time_of(stat.stx_ctime); }

std::uint64_t device_of(const Stat& stat) { return makedev(stat.stx_dev_major, stat.stx_dev_minor); }

Outcome<KernelHandle> kernel_handle(int directory, const char* name) {
  HandleRoom room;
  room.get()->handle_bytes = HandleCodec::body_bytes_max;
  int mount_id = 0;
  if (::name_to_handle_at(directory, name, room.get(), &mount_id, *name == '\0' ? AT_EMPTY_PATH : 0) != 0) {
    if (errno == EOVERFLOW) return base::fail(Error::notsupp);
    return failed_call();
  }
  const int type = room.get()->handle_type;
  const unsigned size = room.get()->handle_bytes;
  if (type < 0 || type > UINT16_MAX || size == 0 || size > HandleCodec::body_bytes_max)
    return base::fail(Error::notsupp);
  KernelHandle out;
  out.type = static_cast<std::uint16_t>(type);
  out.size = static_cast<std::uint8_t>(size);
  std::copy_n(room.body(), size, out.bytes.begin());
  return out;
}

Outcome<base::UniqueFd> open_kernel_handle(int mount, std::uint16_t type, base::BytesView bytes, int flags) {
  if (bytes.size() > HandleCodec::body_bytes_max) return base::fail(Error::badhandle);
  HandleRoom room;
  room.get()->handle_bytes = static_cast<unsigned>(bytes.size());
  room.get()->handle_type = type;
  std::ranges::copy(bytes, room.body());
  base::UniqueFd fd(::open_by_handle_at(mount, room.get(), flags | O_CLOEXEC));
  if (fd) return fd;
  // ENOENT: the inode exists but lies in no directory any more.
  if (errno == ENOENT) return base::fail(Error::stale);
  return failed_call();
}

Outcome<base::UniqueFd> open_path(int directory, const char* name) {
  base::UniqueFd fd(::openat(directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return failed_call();
  return fd;
}

Outcome<base::UniqueFd> open_path_beneath(int directory, const char* name) {
  open_how how{};
  how.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
  how.resolve = RESOLVE_NO_XDEV | RESOLVE_NO_MAGICLINKS | RESOLVE_BENEATH;
  base::UniqueFd fd(static_cast<int>(::syscall(SYS_openat2, directory, name, &how, sizeof how)));
  if (fd) return fd;
  if (errno == EXDEV) return base::fail(Error::acces);
  return failed_call();
}

Outcome<> may(int fd, int rights) {
  return outcome_of(::syscall(SYS_faccessat2, fd, "", rights, AT_EMPTY_PATH | AT_EACCESS));
}

Outcome<> change_mode(int fd, std::uint32_t mode, int descriptors) {
  if (::syscall(SYS_fchmodat2, fd, "", mode, AT_EMPTY_PATH) == 0) return {};
  if (errno != ENOSYS) return failed_call();
  // Linux before 6.6: through the link that stands for the descriptor.
  return outcome_of(::fchmodat(descriptors, fmt::format("{}", fd).c_str(), mode, 0));
}

base::Failure<Error> failed_xattr_call() {
  switch (errno) {
    case ENODATA:
      return base::fail(Error::no_xattr);
    case E2BIG:
    case ERANGE:
      return base::fail(Error::xattr2big);
    default:
      return failed_call();
  }
}

std::string path_of(int fd) { return fmt::format("/proc/self/fd/{}", fd); }

bool has_default_acl(int directory) {
  return ::getxattr(path_of(directory).c_str(), "system.posix_acl_default", nullptr, 0) > 0;
}

bool in_page_cache(int fd, std::uint64_t offset, std::size_t count) {
  // As in linux/mman.h, which Debian 12's headers do not have yet.
  constexpr long cachestat_number = 451;
  struct Range {
    std::uint64_t offset, bytes;
  } range{offset, count};
  struct CacheStat {
    std::uint64_t cached, dirty, writeback, evicted, recently_evicted;
  } stat{};
  if (::syscall(cachestat_number, fd, &range, &stat, 0U) != 0) return false;
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t pages = (offset + count - 1) / page - offset / page + 1;
  return stat.cached >= pages;
}

}  // namespace braid::vfs::posix
