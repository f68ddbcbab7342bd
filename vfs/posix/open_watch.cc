#include "vfs/posix/open_watch.h"

#include <sys/inotify.h>
#include <sys/ioctl.h>

namespace braid::vfs::posix {

Outcome<OpenWatch> OpenWatch::begin(int file) {
  base::UniqueFd inotify(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!inotify || ::inotify_add_watch(inotify.get(), path_of(file).c_str(), IN_OPEN) < 0)
    return failed_call();
  return OpenWatch(std::move(inotify));
}

bool OpenWatch::seen() const {
  int bytes = 0;
  return ::ioctl(inotify_.get(), FIONREAD, &bytes) < 0 || bytes > 0;
}

}  // namespace braid::vfs::posix
