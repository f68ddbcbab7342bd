// SEEK, ALLOCATE, DEALLOCATE and IO_ADVISE.
#include <unistd.h>

#include "base/arith.h"
#include "vfs/posix/byte_changing.h"
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
Outcome<SeekResult> FileData::seek(std::uint64_t offset, SeekTo what) const {
  if (offset > offset_max) return base::fail(Error::nxio);
  const auto use = this->use();
  if (!use) return base::fail(use.error());
  const off_t found =
      ::lseek(use->fd, static_cast<off_t>(offset), what == SeekTo::data ? SEEK_DATA : SEEK_HOLE);
  const int failure = found < 0 ? errno : 0;
  if (failure != 0 && failure != ENXIO) return base::fail(error_of(failure));
  const auto stat = stat_of(use->fd);
  if (!stat) return base::fail(stat.error());
  const std::uint64_t size = stat->stx_size;
  if (offset >= size) return base::fail(Error::nxio);
  // There is an implicit hole at the end (RFC 7862 15.11.3), but no data.
  if (failure == ENXIO || static_cast<std::uint64_t>(found) >= size) return SeekResult{size, true};
  return SeekResult{static_cast<std::uint64_t>(found), false};
}

Outcome<> FileData::admit_allocate(const Credentials& who, std::uint64_t offset, std::uint64_t length) const {
  if (auto allowed = may_write(who); !allowed) return allowed;
  if (length == 0) return base::fail(Error::inval);
  if (!base::end_of<std::uint64_t>(offset, length, offset_max)) return base::fail(Error::fbig);
  return {};
}

Outcome<> FileData::allocate(const Credentials& who, std::uint64_t offset, std::uint64_t length,
                             int mode) const {
  if (auto admitted = admit_allocate(who, offset, length); !admitted) return admitted;
  const auto use = this->use();
  if (!use) return base::fail(use.error());
  return space_through(who, use->fd, offset, length, mode);
}

Outcome<> FileData::space_through(const Credentials& who, int fd, std::uint64_t offset, std::uint64_t length,
                                  int mode) const {
  const Tree::PlannedSync plan = tree_.plan_sync(*this);
  ByteChanging change(*this, fd, plan.syncs == nullptr);
  const auto done = tree_.identity().as(who, [&] {
    return outcome_of(::fallocate(fd, mode, static_cast<off_t>(offset), static_cast<off_t>(length)));
  });
  file_.changes().changed();
  change.end(!done && done.error() != Error::notsupp, false);
  if (!done) return done;
  return Tree::carry_out(plan);
}

Outcome<> FileData::advise(std::uint64_t offset, std::uint64_t length, Advice advice) const {
  if (offset > offset_max) return {};
  const auto use = this->use();
  if (!use) return base::fail(use.error());
  const std::uint64_t bytes = std::min(length, offset_max - offset);
  const int failure =
      ::posix_fadvise(use->fd, static_cast<off_t>(offset), static_cast<off_t>(bytes), kernel_advice(advice));
  if (failure != 0) return base::fail(error_of(failure));
  return {};
}

}  // namespace braid::vfs::posix
