#include "tools/hash_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/unique_fd.h"

namespace braid::tools {
namespace {

// Fills the buffer unless the file ends; returns how much there is.
base::Result<std::size_t> fill(int fd, base::MutableBytes buffer) {
  std::size_t have = 0;
  while (have < buffer.size()) {
    const ssize_t got = ::read(fd, buffer.data() + have, buffer.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return base::fail(base::last_errno());
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  return have;
}

}  // namespace

base::Result<hashing::Key> read_key(const std::string& path) {
  const base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return base::fail(base::last_errno());
  base::Bytes bytes(hashing::key_bytes + 1);
  const auto have = fill(fd.get(), bytes);
  if (!have) return base::fail(have.error());
  return hashing::Key::from(base::BytesView(bytes).first(*have));
}

base::Result<void> read_pieces(
    const std::string& path, base::MutableBytes buffer,
    const std::function<base::Result<void>(base::BytesView piece, bool is_end)>& take) {
  const base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return base::fail(base::last_errno());
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) return base::fail(base::last_errno());
  if (S_ISDIR(status.st_mode)) return base::fail(EISDIR);
  (void)::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  for (bool is_end = false; !is_end;) {
    const auto have = fill(fd.get(), buffer);
    if (!have) return base::fail(have.error());
    is_end = *have < buffer.size();
    if (auto taken = take(base::BytesView(buffer).first(*have), is_end); !taken) return taken;
  }
  return {};
}

}  // namespace braid::tools
