// Descriptions of an object that is known already.
#include <fmt/format.h>
#include <sys/xattr.h>

#include "base/assert.h"
#include "base/log.h"
#include "vfs/posix/tree.h"
#include "vfs/sealed.h"

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

// Its last open may have been closed meanwhile: the handle then leads to another object than this.
Outcome<> Tree::unpark(PosixFile& file) {
  if (!file.parked()) [[likely]]
    return {};
  const auto opened = resolve(file.handle().view());
  if (!opened) return base::fail(opened.error());
  if (file.parked()) return base::fail(Error::delay);
  return {};
}

// With the server's rights: the caller's were asked for when the file was opened for the first time. To be
// refused is to try again later: while a program runs, the file cannot be opened for writing.
Outcome<int> Tree::shared_descriptor(PosixFile& file, OpenAccess access) {
  if (auto opened = unpark(file); !opened) return base::fail(opened.error());
  if (const int fd = file.shared_fd(access); fd >= 0) return fd;
  auto slot = cache_.reserve_for_open();
  if (!slot) return base::fail(Error::delay);
  auto fresh = with_room([&] { return open_again(file, open_flags(access)); });
  if (!fresh) return base::fail(fresh.error() == Error::acces ? Error::delay : fresh.error());
  file.hold([&](Holdings& held) { file.share(held, access, *fresh, *slot); });
  return file.shared_fd(access);
}

Outcome<> Tree::share_all(PosixFile& file) {
  for (const OpenAccess access : {OpenAccess::read, OpenAccess::write, OpenAccess::both}) {
    if (file.hold([access](Holdings& held) { return held.sharing[index_of(access)] == 0; })) continue;
    const auto shared = shared_descriptor(file, access);
    if (!shared) return base::fail(shared.error());
  }
  return {};
}

// The flag is a hint that costs nothing; any other program may set it, too.
Outcome<> Tree::refuse_sealed(const PosixFile& file, int fd) const {
  if (!file.no_dump()) [[likely]]
    return {};
  if (!options_.refuses_sealed || file.type() != FileType::regular) return {};
  const std::string record(sealed_record);
  if (::getxattr(path_of(fd).c_str(), record.c_str(), nullptr, 0) < 0)
    return errno == ENODATA || errno == EOPNOTSUPP ? Outcome<>() : failed_xattr_call();
  base::log_event(base::Level::error, "sealed_file_refused",
                  "fileid={}: a store has its bytes, and the export has not that store",
                  file.identity().fileid);
  return base::fail(Error::io);
}

// A descriptor that data can go through: the one the object has, or a better one in its place.
Outcome<int> Tree::data_descriptor(PosixFile& file, Opened wanted) {
  if (auto opened = unpark(file); !opened) return base::fail(opened.error());
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
  // Once for each time that the file comes into the cache.
  const auto stat = stat_of(fresh->get());
  if (!stat) return base::fail(stat.error());
  file.note_no_dump((stat->stx_attributes & STATX_ATTR_NODUMP) != 0);
  if (auto own = refuse_sealed(file, fresh->get()); !own) return base::fail(own.error());
  if (auto done = file.upgrade(*fresh, wanted); !done) return base::fail(done.error());
  if (wanted == Opened::write) cache_.note_writer(file);
  return file.fd();
}

}  // namespace braid::vfs::posix
