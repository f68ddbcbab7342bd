#include <unistd.h>

#include "vfs/posix/tree.h"

namespace braid::vfs::posix {

Outcome<> Tree::sync_file(PosixFile& file) {
  if (!syncs()) return {};
  const bool has_data = file.type() == FileType::regular || file.type() == FileType::directory;
  const auto fd = has_data ? data_descriptor(file, Opened::read) : Outcome<int>(base::fail(Error::inval));
  // Links and special files cannot be opened, nor can a file that this process may not read.
  const int done = fd ? ::fsync(*fd) : ::syncfs(root_.fd.get());
  if (done == 0) return {};
  const auto failure = failed_call();
  lost_writes();
  return failure;
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
