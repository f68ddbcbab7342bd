#include "tools/own_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cstdio>

#include "base/result.h"

namespace braid::tools {

void complain(std::string_view command, const std::string& path, std::string_view what) {
  fmt::print(stderr, "braid store {}: {}: {}\n", command, path, what);
}

Taken take_file(std::string_view command, const std::string& path, OwnFile& out) {
  out.fd = base::UniqueFd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOATIME));
  if (!out.fd && (errno == ETXTBSY || errno == EWOULDBLOCK)) return Taken::in_use;
  struct stat status{};
  if (!out.fd || ::fstat(out.fd.get(), &status) != 0) {
    complain(command, path, base::message_of(base::last_errno()));
    return Taken::failed;
  }
  out.size = static_cast<std::uint64_t>(status.st_size);
  auto lease = store::FileLease::take(out.fd.get());
  if (!lease && lease.error() == base::errno_of(EAGAIN)) return Taken::in_use;
  if (!lease) {
    complain(command, path, base::message_of(lease.error()));
    return Taken::failed;
  }
  out.lease = std::make_shared<store::FileLease>(std::move(*lease));
  return Taken::yes;
}

}  // namespace braid::tools
