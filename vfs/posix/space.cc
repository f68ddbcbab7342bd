// SEEK, ALLOCATE, DEALLOCATE and IO_ADVISE.
#include <unistd.h>

#include <optional>

#include "base/arith.h"
#include "vfs/posix/tree.h"

namespace braid::vfs::posix {
namespace {

int kernel_advice(Advice advice) {
  switch (advice) {
    case Advice::normal:
      return POSIX_FADV_NORMAL;
    case Advice::sequential:
      return POSIX_FADV_SEQUENTIAL;
    case Advice::random:
      return POSIX_FADV_RANDOM;
    case Advice::will_need:
      return POSIX_FADV_WILLNEED;
    case Advice::dont_need:
      return POSIX_FADV_DONTNEED;
    case Advice::once:
      return POSIX_FADV_NOREUSE;
  }
  return POSIX_FADV_NORMAL;
}

}  // namespace

// The position that lseek(2) leaves behind is nobody's: all reading and writing names its own.
Outcome<SeekResult> Tree::seek(const PosixOpenFile& open, std::uint64_t offset, SeekTo what) {
  if (offset > offset_max) return base::fail(Error::nxio);
  const off_t found =
      ::lseek(open.fd(), static_cast<off_t>(offset), what == SeekTo::data ? SEEK_DATA : SEEK_HOLE);
  const int failure = found < 0 ? errno : 0;
  if (failure != 0 && failure != ENXIO) return base::fail(error_of(failure));
  const auto stat = stat_of(open.fd());
  if (!stat) return base::fail(stat.error());
  const std::uint64_t size = stat->stx_size;
  if (offset >= size) return base::fail(Error::nxio);
  // There is an implicit hole at the end (RFC 7862 15.11.3), but no data.
  if (failure == ENXIO || static_cast<std::uint64_t>(found) >= size) return SeekResult{size, true};
  return SeekResult{static_cast<std::uint64_t>(found), false};
}

Outcome<> Tree::allocate(const Credentials& who, const PosixOpenFile& open, std::uint64_t offset,
                         std::uint64_t length, int mode) {
  if (auto allowed = may_write(open); !allowed) return allowed;
  if (length == 0) return base::fail(Error::inval);
  if (!base::end_of<std::uint64_t>(offset, length, offset_max)) return base::fail(Error::fbig);
  const PlannedSync plan = plan_sync(open);
  std::optional<FileSyncs::UnsyncedWrite> unsynced;
  if (!syncs() && !root_.traits.in_memory) unsynced.emplace(open.node().syncs(*write_back_), open.fd());
  const auto done = identity_.as(who, [&] {
    return outcome_of(::fallocate(open.fd(), mode, static_cast<off_t>(offset), static_cast<off_t>(length)));
  });
  open.node().changes().changed();
  if (!done) return done;
  return carry_out(plan);
}

Outcome<> Tree::advise(const PosixOpenFile& open, std::uint64_t offset, std::uint64_t length, Advice advice) {
  if (offset > offset_max) return {};
  const std::uint64_t bytes = std::min(length, offset_max - offset);
  const int failure = ::posix_fadvise(open.fd(), static_cast<off_t>(offset), static_cast<off_t>(bytes),
                                      kernel_advice(advice));
  if (failure != 0) return base::fail(error_of(failure));
  return {};
}

}  // namespace braid::vfs::posix
