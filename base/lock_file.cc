#include "base/lock_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace braid::base {

Result<LockFile> LockFile::take(int directory, const std::string& path, std::string_view who,
                                const Wait& wait, std::string& holder) {
  UniqueFd file(::openat(directory, path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return fail(last_errno());
  while (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return fail(last_errno());
    holder.resize(256);
    const ssize_t size = ::pread(file.get(), holder.data(), holder.size(), 0);
    holder.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    if (!wait || !wait(holder)) return fail(EBUSY);
  }
  // That it cannot be written is no reason to do without what it locks.
  if (::ftruncate(file.get(), 0) == 0) (void)!::pwrite(file.get(), who.data(), who.size(), 0);
  return LockFile(std::move(file));
}

}  // namespace braid::base
