// CLONE and COPY.
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/arith.h"
#include "vfs/posix/byte_changing.h"
#include "vfs/posix/tree.h"

namespace braid::vfs::posix {
namespace {

constexpr std::size_t copied_piece_bytes = 256 * base::KiB;

// The files are on different file systems, or on one that cannot do it.
bool kernel_cannot_copy(int error) { return error == EXDEV || error == EOPNOTSUPP || error == ENOSYS; }

// How far a copy got.
struct Copied {
  std::uint64_t count = 0;
  int failure = 0;            // the errno that ended it; 0: none
  bool write_failed = false;  // it is that of writing, not of reading
};

// pwrite(2) until all is written, or nothing more is.
void write_piece(int fd, base::BytesView bytes, off_t at, Copied& copied) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t wrote =
        ::pwrite(fd, bytes.data() + done, bytes.size() - done, at + static_cast<off_t>(done));
    copied.write_failed = wrote < 0;
    if (wrote < 0) copied.failure = errno;
    if (wrote <= 0) break;
    done += static_cast<std::size_t>(wrote);
  }
  copied.count += done;
}

// What copy_file_range(2) does, by reading and writing.
Copied copy_by_hand(int from, off_t at, int to, off_t onto, std::uint64_t length) {
  base::Bytes piece(std::min<std::uint64_t>(length, copied_piece_bytes));
  Copied copied;
  while (copied.count < length) {
    const auto done = static_cast<off_t>(copied.count);
    const std::size_t wanted = std::min<std::uint64_t>(length - copied.count, piece.size());
    const ssize_t got = ::pread(from, piece.data(), wanted, at + done);
    if (got < 0) copied.failure = errno;
    if (got <= 0) break;
    const std::uint64_t whole = copied.count + static_cast<std::uint64_t>(got);
    write_piece(to, base::BytesView(piece).first(static_cast<std::size_t>(got)), onto + done, copied);
    if (copied.count < whole) break;
  }
  return copied;
}

Copied copy_range(int from, off_t at, int to, off_t onto, std::uint64_t length) {
  off_t read_at = at;
  off_t write_at = onto;
  const ssize_t copied = ::copy_file_range(from, &read_at, to, &write_at, length, 0);
  if (copied >= 0) return {.count = static_cast<std::uint64_t>(copied)};
  if (kernel_cannot_copy(errno)) return copy_by_hand(from, at, to, onto, length);
  return {.failure = errno, .write_failed = true};
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
  ByteChanging change(*this, use->fd, plan.syncs == nullptr);
  int failure = 0;
  const auto done = tree_.identity().as(who, [&] {
    if (::ioctl(use->fd, FICLONERANGE, &range) != 0) failure = errno;
    return failure == 0 ? Outcome<>() : base::fail(error_of(failure));
  });
  change.end(failure != 0 && !kernel_cannot_copy(failure), false);
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
  ByteChanging change(*this, use->fd, true);
  const auto copied = tree_.identity().as(who, [&]() -> Outcome<Copied> {
    return copy_range(source->fd, static_cast<off_t>(from_offset), use->fd, static_cast<off_t>(to_offset),
                      wanted);
  });
  file_.changes().changed();
  if (!copied) return base::fail(copied.error());
  change.end(copied->write_failed, copied->count > 0);
  // An error after the first bytes is the next call's, but for what it says of the bytes before.
  if (copied->failure != 0 && copied->count == 0) return base::fail(error_of(copied->failure));
  return copied->count;
}

}  // namespace braid::vfs::posix
