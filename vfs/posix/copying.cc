// CLONE and COPY.
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "base/arith.h"
#include "vfs/posix/tree.h"

namespace braid::vfs::posix {
namespace {

constexpr std::uint64_t offset_max = std::numeric_limits<off_t>::max();

}  // namespace

Outcome<> Tree::may_copy(const PosixOpenFile& from, const PosixOpenFile& to) const {
  if (!includes(from.access(), OpenAccess::read)) return base::fail(Error::acces);
  return may_write(to);
}

Outcome<> Tree::clone(const Credentials& who, const PosixOpenFile& from, std::uint64_t from_offset,
                      const PosixOpenFile& to, std::uint64_t to_offset, std::uint64_t length) {
  if (auto allowed = may_copy(from, to); !allowed) return allowed;
  const bool fits = base::end_of<std::uint64_t>(from_offset, length, offset_max) &&
                    base::end_of<std::uint64_t>(to_offset, length, offset_max);
  if (!fits) return base::fail(Error::fbig);
  file_clone_range range{};
  range.src_fd = from.fd();
  range.src_offset = from_offset;
  range.src_length = length;
  range.dest_offset = to_offset;
  const PlannedSync plan = plan_sync(to);
  std::optional<FileSyncs::UnsyncedWrite> unsynced;
  if (!syncs() && !root_.traits.in_memory) unsynced.emplace(to.node().syncs(*write_back_), to.fd());
  const auto done = identity_.as(who, [&] { return outcome_of(::ioctl(to.fd(), FICLONERANGE, &range)); });
  to.node().changes().changed();
  if (!done) return done;
  return carry_out(plan);
}

// Not synced: COPY answers how stable its data is, and COMMIT makes the rest (RFC 7862 15.2.3).
Outcome<std::uint64_t> Tree::copy(const Credentials& who, const PosixOpenFile& from,
                                  std::uint64_t from_offset, const PosixOpenFile& to, std::uint64_t to_offset,
                                  std::uint64_t length) {
  if (auto allowed = may_copy(from, to); !allowed) return base::fail(allowed.error());
  if (from_offset > offset_max || to_offset > offset_max) return base::fail(Error::fbig);
  const std::uint64_t wanted = std::min(length == 0 ? copy_slice_bytes : length, copy_slice_bytes);
  auto at = static_cast<off_t>(from_offset);
  auto onto = static_cast<off_t>(to_offset);
  std::optional<FileSyncs::UnsyncedWrite> unsynced;
  if (!root_.traits.in_memory) unsynced.emplace(to.node().syncs(*write_back_), to.fd());
  const auto done = identity_.as(who, [&]() -> Outcome<std::uint64_t> {
    const ssize_t copied = ::copy_file_range(from.fd(), &at, to.fd(), &onto, wanted, 0);
    if (copied < 0) return failed_call();
    return static_cast<std::uint64_t>(copied);
  });
  to.node().changes().changed();
  return done;
}

}  // namespace braid::vfs::posix
