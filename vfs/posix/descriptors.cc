// Descriptions of an object that is known already.
#include <fmt/format.h>

#include "base/assert.h"
#include "vfs/posix/tree.h"

namespace braid::vfs::posix {

// Another description of the same object, with the server's rights.
Outcome<base::UniqueFd> Tree::open_again(const PosixFile& file, int flags) {
  if (!transient_) {
    const auto opened = codec_.open(file.handle().view());
    auto fd = open_kernel_handle(root_.fd.get(), opened->body.type, opened->body.bytes, flags);
    if (fd || fd.error() != Error::stale) return fd;
  }
  // What has lost its last name has no handle any more.
  return open_descriptor(file.fd(), flags);
}

// The same with the rights of the calling thread.
Outcome<base::UniqueFd> Tree::open_descriptor(int fd, int flags) const {
  base::UniqueFd fresh(::openat(root_.descriptors.get(), fmt::format("{}", fd).c_str(), flags));
  if (!fresh) return failed_call();
  return fresh;
}

// A descriptor that data can go through: the one the object has, or a better one in its place.
Outcome<int> Tree::data_descriptor(PosixFile& file, Opened wanted) {
  if (file.opened() >= wanted) return file.fd();
  // Opening a device or a fifo has effects of its own.
  base::check(
      file.type() == FileType::regular || (file.type() == FileType::directory && wanted == Opened::read),
      "data belongs to regular files");
  // Opened with the server's rights: what a caller may do with it is checked in every call. O_NONBLOCK: a
  // lease of a local program makes this fail with EAGAIN instead of waiting for it.
  const bool directory = file.type() == FileType::directory;
  const int flags = (wanted == Opened::write ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOCTTY | O_NONBLOCK |
                    (directory ? O_DIRECTORY : 0);
  const auto fresh = with_room([&] { return open_again(file, flags); });
  if (!fresh) return base::fail(fresh.error());
  if (auto done = file.upgrade(*fresh, wanted); !done) return base::fail(done.error());
  if (wanted == Opened::write) cache_.note_writer(file);
  return file.fd();
}

}  // namespace braid::vfs::posix
