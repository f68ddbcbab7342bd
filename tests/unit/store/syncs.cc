#include "tests/unit/store/syncs.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <utility>

#include "base/guarded.h"

namespace braid::store::test {
namespace {

struct Seen {
  int syncs = 0;
  bool fails = false;
};

base::Guarded<std::map<ino_t, Seen>>& all_seen() {
  static base::Guarded<std::map<ino_t, Seen>> seen;
  return seen;
}

}  // namespace

int syncs_of(ino_t file) {
  return all_seen().with([&](auto& seen) { return seen[file].syncs; });
}

void fail_next_sync_of(ino_t file) {
  all_seen().with([&](auto& seen) { seen[file].fails = true; });
}

extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier): the linker's names for what it wraps.
int __real_fsync(int fd);
int __wrap_fsync(int fd);

int __wrap_fsync(int fd) {
  struct stat file{};
  const bool fails = ::fstat(fd, &file) == 0 && all_seen().with([&](auto& seen) {
    Seen& one = seen[file.st_ino];
    ++one.syncs;
    return std::exchange(one.fails, false);
  });
  if (!fails) return __real_fsync(fd);
  errno = EIO;
  return -1;
}
// NOLINTEND(bugprone-reserved-identifier)
}

}  // namespace braid::store::test
