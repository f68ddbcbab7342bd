// CLONE and COPY.
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "base/arith.h"
#include "vfs/posix/tree.h"

namespace braid::vfs::posix {
namespace {

constexpr std::size_t copied_piece_bytes = 256 * base::KiB;

// The files are on different file systems, or on one that cannot do it.
bool kernel_cannot_copy(int error) { return error == EXDEV || error == EOPNOTSUPP || error == ENOSYS; }

// pwrite(2) until all is written; how much was, if it is something.
Outcome<std::size_t> write_piece(int fd, base::BytesView bytes, off_t at) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t wrote =
        ::pwrite(fd, bytes.data() + done, bytes.size() - done, at + static_cast<off_t>(done));
    if (wrote < 0 && done == 0) return failed_call();
    if (wrote <= 0) break;
    done += static_cast<std::size_t>(wrote);
  }
  return done;
}

// What copy_file_range(2) does, by reading and writing. An error after the first bytes is the next call's.
Outcome<std::uint64_t> copy_by_hand(int from, off_t at, int to, off_t onto, std::uint64_t length) {
  base::Bytes piece(std::min<std::uint64_t>(length, copied_piece_bytes));
  std::uint64_t copied = 0;
  while (copied < length) {
    const auto done = static_cast<off_t>(copied);
    const std::size_t wanted = std::min<std::uint64_t>(length - copied, piece.size());
    const ssize_t got = ::pread(from, piece.data(), wanted, at + done);
    if (got < 0 && copied == 0) return failed_call();
    if (got <= 0) break;
    const auto wrote =
        write_piece(to, base::BytesView(piece).first(static_cast<std::size_t>(got)), onto + done);
    if (!wrote && copied == 0) return base::fail(wrote.error());
    if (!wrote) break;
    copied += *wrote;
    if (*wrote < static_cast<std::size_t>(got)) break;
  }
  return copied;
}

}  // namespace

Outcome<> FileData::may_copy(const Credentials& who, const OpenFile& from) const {
  if (!includes(from.access(), OpenAccess::read)) return base::fail(Error::acces);
  return may_write(who);
}

Outcome<> FileData::clone_from(const Credentials& who, OpenFile& from, std::uint64_t from_offset,
                               std::uint64_t to_offset, std::uint64_t length) const {
  if (auto allowed = may_copy(who, from); !allowed) return allowed;
  const bool fits = base::end_of<std::uint64_t>(from_offset, length, offset_max) &&
                    base::end_of<std::uint64_t>(to_offset, length, offset_max);
  if (!fits) return base::fail(Error::fbig);
  const auto use = this->use();
  if (!use) return base::fail(use.error());
  const auto source = from.descriptor();
  if (!source) return base::fail(source.error());
  file_clone_range range{};
  range.src_fd = source->fd;
  range.src_offset = from_offset;
  range.src_length = length;
  range.dest_offset = to_offset;
  const Tree::PlannedSync plan = tree_.plan_sync(*this);
  std::optional<FileSyncs::UnsyncedWrite> unsynced;
  if (plan.syncs == nullptr && !tree_.base().traits.in_memory)
    unsynced.emplace(file_.syncs(tree_.write_back()), use->fd);
  const auto done =
      tree_.identity().as(who, [&] { return outcome_of(::ioctl(use->fd, FICLONERANGE, &range)); });
  file_.changes().changed();
  if (!done) return done;
  return Tree::carry_out(plan);
}

// Not synced: COPY answers how stable its data is, and COMMIT makes the rest (RFC 7862 15.2.3).
Outcome<std::uint64_t> FileData::copy_from(const Credentials& who, OpenFile& from, std::uint64_t from_offset,
                                           std::uint64_t to_offset, std::uint64_t length) const {
  if (auto allowed = may_copy(who, from); !allowed) return base::fail(allowed.error());
  if (from_offset > offset_max || to_offset > offset_max) return base::fail(Error::fbig);
  const auto use = this->use();
  if (!use) return base::fail(use.error());
  const auto source = from.descriptor();
  if (!source) return base::fail(source.error());
  const std::uint64_t wanted = std::min(length == 0 ? copy_slice_bytes : length, copy_slice_bytes);
  auto at = static_cast<off_t>(from_offset);
  auto onto = static_cast<off_t>(to_offset);
  std::optional<FileSyncs::UnsyncedWrite> unsynced;
  if (!tree_.base().traits.in_memory) unsynced.emplace(file_.syncs(tree_.write_back()), use->fd);
  const auto done = tree_.identity().as(who, [&]() -> Outcome<std::uint64_t> {
    const ssize_t copied = ::copy_file_range(source->fd, &at, use->fd, &onto, wanted, 0);
    if (copied >= 0) return static_cast<std::uint64_t>(copied);
    if (!kernel_cannot_copy(errno)) return failed_call();
    return copy_by_hand(source->fd, at, use->fd, onto, wanted);
  });
  file_.changes().changed();
  return done;
}

}  // namespace braid::vfs::posix
