#include <unistd.h>

#include "vfs/posix/tree.h"

namespace braid::vfs::posix {

// A description that a caller holds will do: one more would be in the way of that caller's own lease.
Outcome<Tree::Readable> Tree::readable(PosixFile& file) {
  if (file.opened() == Opened::path)
    if (auto borrowed = file.borrow(); borrowed != nullptr) return Readable{borrowed->fd(), borrowed};
  const auto fd = data_descriptor(file, Opened::read);
  if (!fd) return base::fail(fd.error());
  return Readable{*fd, nullptr};
}

Outcome<> Tree::synced(int returned) {
  if (returned == 0) return {};
  const auto failure = failed_call();
  lost_writes();
  return failure;
}

Outcome<> Tree::sync_data(PosixFile& file) {
  const auto data = readable(file);
  if (!data) return base::fail(data.error());
  return synced(::fsync(data->fd));
}

Outcome<> Tree::sync_file(PosixFile& file) {
  if (!syncs()) return {};
  const bool has_data = file.type() == FileType::regular || file.type() == FileType::directory;
  const auto data = has_data ? readable(file) : Outcome<Readable>(base::fail(Error::inval));
  // Links and special files cannot be opened, nor can a file that this process may not read.
  return synced(data ? ::fsync(data->fd) : ::syncfs(root_.fd.get()));
}

// The object's own attributes, then the name that leads to it. What cannot be opened comes with its
// directory.
Outcome<> Tree::sync_new(PosixFile& directory, PosixFile& made) {
  if (!syncs()) return {};
  if (made.type() == FileType::regular || made.type() == FileType::directory)
    if (auto done = sync_file(made); !done) return done;
  return sync_file(directory);
}

}  // namespace braid::vfs::posix
