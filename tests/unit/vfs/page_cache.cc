#include "page_cache.h"

#include <sys/uio.h>

#include <atomic>
#include <cerrno>

namespace braid::vfs::test {
namespace {
std::atomic<bool> never_refused = false, refused = false;
}  // namespace

ReadsNeverRefused::ReadsNeverRefused() { never_refused = true; }
ReadsNeverRefused::~ReadsNeverRefused() { never_refused = false; }

ReadsRefused::ReadsRefused() { refused = true; }
ReadsRefused::~ReadsRefused() { refused = false; }

extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier): the linker's names for what it wraps.
ssize_t __real_preadv2(int fd, const iovec* vectors, int count, off_t offset, int flags);
ssize_t __wrap_preadv2(int fd, const iovec* vectors, int count, off_t offset, int flags);

ssize_t __wrap_preadv2(int fd, const iovec* vectors, int count, off_t offset, int flags) {
  if (refused && (flags & RWF_NOWAIT) != 0) {
    errno = EAGAIN;
    return -1;
  }
  return __real_preadv2(fd, vectors, count, offset, never_refused ? flags & ~RWF_NOWAIT : flags);
}
// NOLINTEND(bugprone-reserved-identifier)
}

}  // namespace braid::vfs::test
