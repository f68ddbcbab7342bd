#include "store/medium/posix_medium.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <csignal>
#include <utility>
#include <vector>

#include "vfs/posix/kernel.h"

namespace braid::store {
namespace {

constexpr mode_t private_file = 0600, private_directory = 0700;

base::Result<void> done_if(long returned) {
  if (returned < 0) return base::fail(base::last_errno());
  return {};
}

// Again as long as a signal comes between.
template <class F>
auto uninterrupted(F call) {
  auto out = call();
  while (out < 0 && errno == EINTR) out = call();
  return out;
}

timespec timespec_of(const vfs::Time& time) {
  return {.tv_sec = time.seconds, .tv_nsec = static_cast<long>(time.nanoseconds)};
}
vfs::Time time_of(const timespec& time) { return {time.tv_sec, static_cast<std::uint32_t>(time.tv_nsec)}; }

// As st_blksize says, and what the kernel caches: a page. Larger ones are no blocks, but what is good to read
// at a time.
std::uint64_t block_of(blksize_t told) {
  constexpr std::uint64_t page_bytes = 4096, block_bytes_max = 64 * base::KiB;
  return std::clamp(std::bit_ceil(static_cast<std::uint64_t>(std::max<blksize_t>(told, 1))), page_bytes,
                    block_bytes_max);
}

// The first one that has bytes left when so many are done.
std::vector<iovec>::iterator behind(std::vector<iovec>::iterator at, std::size_t done) {
  for (; done > 0 && done >= at->iov_len; ++at) done -= at->iov_len;
  if (done > 0) {
    at->iov_base = static_cast<std::byte*>(at->iov_base) + done;
    at->iov_len -= done;
  }
  return at;
}

class PosixFile final : public File {
 public:
  explicit PosixFile(base::UniqueFd owned) : owned_(std::move(owned)), fd_(owned_.get()) {}
  explicit PosixFile(int lent) : fd_(lent) {}

  base::Result<std::size_t> read(std::uint64_t offset, base::MutableBytes to) override {
    std::size_t have = 0;
    while (have < to.size()) {
      const ssize_t got = uninterrupted([&] {
        return ::pread(fd_, to.data() + have, to.size() - have, static_cast<off_t>(offset + have));
      });
      if (got < 0) return base::fail(base::last_errno());
      if (got == 0) break;
      have += static_cast<std::size_t>(got);
    }
    return have;
  }
  base::Result<void> write(std::uint64_t offset, base::BytesView bytes) override {
    while (!bytes.empty()) {
      const ssize_t put = uninterrupted(
          [&] { return ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset)); });
      if (put < 0) return base::fail(base::last_errno());
      if (put == 0) return base::fail(ENOSPC);
      offset += static_cast<std::uint64_t>(put);
      bytes = bytes.subspan(static_cast<std::size_t>(put));
    }
    return {};
  }
  base::Result<void> write_all(std::uint64_t offset, std::span<const base::BytesView> parts) override {
    std::vector<iovec> left;
    for (const base::BytesView part : parts)
      if (!part.empty()) left.push_back({const_cast<std::byte*>(part.data()), part.size()});
    for (auto at = left.begin(); at != left.end();) {
      const auto count = static_cast<int>(std::min<std::ptrdiff_t>(left.end() - at, IOV_MAX));
      const ssize_t put =
          uninterrupted([&] { return ::pwritev(fd_, &*at, count, static_cast<off_t>(offset)); });
      if (put < 0) return base::fail(base::last_errno());
      if (put == 0) return base::fail(ENOSPC);
      offset += static_cast<std::uint64_t>(put);
      at = behind(at, static_cast<std::size_t>(put));
    }
    return {};
  }
  base::Result<void> resize(std::uint64_t size) override {
    return done_if(uninterrupted([&] { return ::ftruncate(fd_, static_cast<off_t>(size)); }));
  }
  base::Result<void> punch(std::uint64_t offset, std::uint64_t length) override {
    return done_if(uninterrupted([&] {
      return ::fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                         static_cast<off_t>(length));
    }));
  }
  base::Result<std::optional<Extent>> next_data(std::uint64_t offset) override {
    const off_t begin = ::lseek(fd_, static_cast<off_t>(offset), SEEK_DATA);
    if (begin < 0 && errno == ENXIO) return std::nullopt;
    if (begin < 0) return base::fail(base::last_errno());
    const off_t end = ::lseek(fd_, begin, SEEK_HOLE);
    // It was cut short meanwhile.
    if (end < 0 && errno == ENXIO) return std::nullopt;
    if (end < 0) return base::fail(base::last_errno());
    return Extent{static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(end)};
  }
  base::Result<FileStatus> status() override {
    struct stat now{};
    if (::fstat(fd_, &now) != 0) return base::fail(base::last_errno());
    return FileStatus{.size = static_cast<std::uint64_t>(now.st_size),
                      .allocated = static_cast<std::uint64_t>(now.st_blocks) * 512,
                      .fileid = now.st_ino,
                      .block_bytes = block_of(now.st_blksize),
                      .atime = time_of(now.st_atim),
                      .mtime = time_of(now.st_mtim),
                      .ctime = time_of(now.st_ctim)};
  }
  base::Result<bool> is_inline() override {
    alignas(fiemap) std::array<std::byte, sizeof(fiemap) + sizeof(fiemap_extent)> room{};
    auto* const map = reinterpret_cast<fiemap*>(room.data());
    map->fm_length = FIEMAP_MAX_OFFSET;
    map->fm_extent_count = 1;
    if (::ioctl(fd_, FS_IOC_FIEMAP, map) != 0) {
      if (errno == EOPNOTSUPP || errno == ENOTTY) return false;
      return base::fail(base::last_errno());
    }
    return map->fm_mapped_extents > 0 && (map->fm_extents[0].fe_flags & FIEMAP_EXTENT_DATA_INLINE) != 0;
  }
  base::Result<void> set_times(const vfs::Time& atime, const vfs::Time& mtime) override {
    const timespec times[2] = {timespec_of(atime), timespec_of(mtime)};
    return done_if(::futimens(fd_, times));
  }
  base::Result<void> sync() override {
    return done_if(uninterrupted([&] { return ::fsync(fd_); }));
  }
  void begin_sync(std::uint64_t offset, std::uint64_t length) override {
    (void)::sync_file_range(fd_, static_cast<off_t>(offset), static_cast<off_t>(length),
                            SYNC_FILE_RANGE_WRITE);
  }
  base::Result<void> sync_file_system() override { return done_if(::syncfs(fd_)); }
  void forget_cached(std::uint64_t offset, std::uint64_t length) override {
    (void)::posix_fadvise(fd_, static_cast<off_t>(offset), static_cast<off_t>(length), POSIX_FADV_DONTNEED);
  }
  base::Result<std::optional<base::Bytes>> attribute(const char* name) override {
    base::Bytes out(attribute_bytes_max);
    const ssize_t size = ::fgetxattr(fd_, name, out.data(), out.size());
    if (size < 0 && (errno == ENODATA || errno == EOPNOTSUPP)) return std::nullopt;
    if (size < 0 && errno == ERANGE) return base::fail(E2BIG);
    if (size < 0) return base::fail(base::last_errno());
    out.resize(static_cast<std::size_t>(size));
    return out;
  }
  base::Result<void> set_attribute(const char* name, base::BytesView value) override {
    return done_if(::fsetxattr(fd_, name, value.data(), value.size(), 0));
  }
  base::Result<void> remove_attribute(const char* name) override {
    if (::fremovexattr(fd_, name) != 0 && errno != ENODATA) return base::fail(base::last_errno());
    return {};
  }
  base::Result<void> set_hint(bool on) override {
    int flags = 0;
    if (::ioctl(fd_, FS_IOC_GETFLAGS, &flags) != 0) return base::fail(base::last_errno());
    const int wanted = on ? flags | FS_NODUMP_FL : flags & ~FS_NODUMP_FL;
    if (wanted == flags) return {};
    return done_if(::ioctl(fd_, FS_IOC_SETFLAGS, &wanted));
  }
  [[nodiscard]] int descriptor() const override { return fd_; }
  base::Result<KernelHandle> handle() override {
    const auto found = vfs::posix::kernel_handle(fd_, "");
    if (!found) return base::fail(found.error() == vfs::Error::notsupp ? EOPNOTSUPP : EIO);
    static_assert(KernelHandle::bytes_max == vfs::HandleCodec::body_bytes_max);
    KernelHandle out{.type = found->type, .size = found->size, .bytes = {}};
    std::ranges::copy(found->view(), out.bytes.begin());
    return out;
  }

 private:
  const base::UniqueFd owned_;
  const int fd_;
};

class PosixMedium final : public Medium {
 public:
  explicit PosixMedium(base::UniqueFd directory) : directory_(std::move(directory)) {}

  base::Result<std::unique_ptr<File>> open(const std::string& name, OpenFor what) override {
    const int how = what == OpenFor::reading   ? O_RDONLY
                    : what == OpenFor::writing ? O_RDWR
                                               : O_RDWR | O_CREAT | O_EXCL;
    base::UniqueFd fd(::openat(directory_.get(), name.c_str(), how | O_CLOEXEC | O_NOFOLLOW, private_file));
    if (!fd) return base::fail(base::last_errno());
    return std::make_unique<PosixFile>(std::move(fd));
  }
  base::Result<std::vector<std::string>> list(const std::string& directory) override {
    const auto opened = open_directory(directory);
    if (!opened) return base::fail(opened.error());
    const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(::dup(opened->get())), ::closedir);
    if (stream == nullptr) return base::fail(base::last_errno());
    std::vector<std::string> out;
    for (;;) {
      errno = 0;
      const dirent* const entry = ::readdir(stream.get());
      if (entry == nullptr && errno != 0) return base::fail(base::last_errno());
      if (entry == nullptr) return out;
      const std::string name = entry->d_name;
      if (name != "." && name != "..") out.push_back(name);
    }
  }
  base::Result<void> make_directory(const std::string& name) override {
    if (::mkdirat(directory_.get(), name.c_str(), private_directory) != 0 && errno != EEXIST)
      return base::fail(base::last_errno());
    return {};
  }
  base::Result<void> rename(const std::string& from, const std::string& to) override {
    return done_if(::renameat(directory_.get(), from.c_str(), directory_.get(), to.c_str()));
  }
  base::Result<void> remove(const std::string& name) override {
    if (::unlinkat(directory_.get(), name.c_str(), 0) != 0 && errno != ENOENT)
      return base::fail(base::last_errno());
    return {};
  }
  base::Result<void> sync_directory(const std::string& directory) override {
    const auto opened = open_directory(directory);
    if (!opened) return base::fail(opened.error());
    return done_if(uninterrupted([&] { return ::fsync(opened->get()); }));
  }
  std::unique_ptr<File> file_of(int descriptor) override { return std::make_unique<PosixFile>(descriptor); }

 private:
  [[nodiscard]] base::Result<base::UniqueFd> open_directory(const std::string& name) const {
    base::UniqueFd fd(::openat(directory_.get(), name.empty() ? "." : name.c_str(),
                               O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
    if (!fd) return base::fail(base::last_errno());
    return fd;
  }

  const base::UniqueFd directory_;
};

}  // namespace

base::Result<std::unique_ptr<Medium>> open_posix_medium(const std::string& directory) {
  base::UniqueFd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return base::fail(base::last_errno());
  return std::make_unique<PosixMedium>(std::move(fd));
}

base::Result<FileLease> FileLease::take(int fd) {
  // Of SIGIO, which the kernel sends otherwise, a process dies; this one is ignored.
  if (::fcntl(fd, F_SETSIG, SIGURG) != 0 || ::fcntl(fd, F_SETLEASE, F_WRLCK) != 0)
    return base::fail(base::last_errno());
  return FileLease(fd);
}

FileLease::~FileLease() {
  if (fd_ >= 0) (void)::fcntl(fd_, F_SETLEASE, F_UNLCK);
}

bool FileLease::held() const { return ::fcntl(fd_, F_GETLEASE) == F_WRLCK; }

}  // namespace braid::store
