#include <unistd.h>

#include "vfs/posix/tree.h"

namespace braid::vfs::posix {

Outcome<std::size_t> Tree::readlink(PosixFile& link, base::MutableBytes out) {
  if (link.type() != FileType::symlink) return base::fail(Error::inval);
  const ssize_t size = ::readlinkat(link.fd(), "", reinterpret_cast<char*>(out.data()), out.size());
  if (size < 0) return failed_call();
  return static_cast<std::size_t>(size);
}

}  // namespace braid::vfs::posix
