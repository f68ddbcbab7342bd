#include "pnfs_mds/state_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "base/assert.h"

namespace braid::pnfs_mds {
namespace {

constexpr mode_t private_mode = 0600;

// At most `bytes_max`, and one more.
base::Result<base::Bytes> read_all(int fd, std::size_t bytes_max) {
  base::Bytes out(bytes_max + 1);
  std::size_t size = 0;
  while (size < out.size()) {
    const ssize_t got = ::read(fd, out.data() + size, out.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return base::fail(base::last_errno());
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  out.resize(size);
  return out;
}

base::Result<void> write_new(int directory, const std::string& name, base::BytesView content) {
  const std::string fresh_name = name + ".new";
  (void)::unlinkat(directory, fresh_name.c_str(), 0);
  const base::UniqueFd fresh(::openat(directory, fresh_name.c_str(),
                                      O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, private_mode));
  if (!fresh) return base::fail(base::last_errno());
  const ssize_t written = ::write(fresh.get(), content.data(), content.size());
  if (written < 0) return base::fail(base::last_errno());
  if (written != static_cast<ssize_t>(content.size())) return base::fail(ENOSPC);
  if (::fsync(fresh.get()) != 0 || ::renameat(directory, fresh_name.c_str(), directory, name.c_str()) != 0 ||
      ::fsync(directory) != 0)
    return base::fail(base::last_errno());
  return {};
}

}  // namespace

base::Bytes random_bytes(std::size_t count) {
  base::Bytes out(count);
  // Up to 256 bytes getrandom(2) is not interrupted, and does not return fewer.
  base::check(count <= 256 && ::getrandom(out.data(), count, 0) == static_cast<ssize_t>(count),
              "the kernel gives random bytes");
  return out;
}

base::Result<StateDirectory> StateDirectory::open(const std::string& parent) {
  std::string path = parent + "/pnfs";
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return base::fail(base::last_errno());
  base::UniqueFd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return base::fail(base::last_errno());
  base::UniqueFd lock(
      ::openat(directory.get(), "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, private_mode));
  if (!lock) return base::fail(base::last_errno());
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0)
    return base::fail(errno == EWOULDBLOCK ? base::errno_of(EBUSY) : base::last_errno());
  return StateDirectory(std::move(path), std::move(directory), std::move(lock));
}

base::Result<base::Bytes> StateDirectory::kept(const std::string& name, std::size_t bytes) const {
  const base::UniqueFd file(::openat(fd(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file && errno != ENOENT) return base::fail(base::last_errno());
  if (!file) {
    base::Bytes made = random_bytes(bytes);
    if (const auto written = write_new(fd(), name, made); !written) return base::fail(written.error());
    return made;
  }
  auto content = read_all(file.get(), bytes);
  if (content && content->size() != bytes) return base::fail(EBADMSG);
  return content;
}

}  // namespace braid::pnfs_mds
