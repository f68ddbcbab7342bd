// READ, WRITE, COMMIT, and the size of a file.
#include "vfs/posix/file_data.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "base/arith.h"
#include "vfs/posix/late.h"
#include "vfs/posix/tree.h"

namespace braid::vfs::posix {
namespace {

constexpr std::uint32_t set_id_bits = 06000;

int flags_of(Stability stability) {
  switch (stability) {
    case Stability::unstable:
      return 0;
    case Stability::data_sync:
      return RWF_DSYNC;
    case Stability::file_sync:
      return RWF_SYNC;
  }
  return RWF_SYNC;
}

// How far the bytes of a WRITE got.
struct Written {
  std::size_t count = 0;
  int failure = 0;     // the errno that ended it; 0: none
  bool synced = true;  // false: all of it is in the page cache, but the medium did not take it
};

// The range of `data` at byte `from`, which is in a pipe.
base::Result<std::size_t> drain_pipe(int fd, std::uint64_t offset, const io::Payload& data,
                                     std::size_t from) {
  std::size_t start = 0;
  for (const io::SlabRange& range : data.ranges()) {
    if (from < start + range.length)
      return range.slab.pipe()->drain_to_file(fd, offset + from, start + range.length - from);
    start += range.length;
  }
  return std::size_t{0};
}

base::Result<std::size_t> put_vectors(int fd, std::uint64_t offset, std::span<const iovec> vectors,
                                      int flags) {
  const ssize_t put =
      ::pwritev2(fd, vectors.data(), static_cast<int>(vectors.size()), static_cast<off_t>(offset), flags);
  if (put < 0) return base::fail(base::last_errno());
  return static_cast<std::size_t>(put);
}

Written write_payload(int fd, std::uint64_t offset, const io::Payload& data, int flags) {
  Written out;
  while (out.count < data.size()) {
    std::array<iovec, 64> vectors;
    const std::size_t used = io::to_iovecs(data, out.count, vectors);
    const auto put = used == 0 ? drain_pipe(fd, offset, data, out.count)
                               : put_vectors(fd, offset + out.count, std::span(vectors).first(used), flags);
    if (!put) out.failure = base::number_of(put.error());
    if (!put || *put == 0) break;
    out.count += *put;
  }
  // splice(2) has no flags for that.
  if (out.count > 0 && data.piped() && flags != 0)
    out.synced = (flags == RWF_SYNC ? ::fsync(fd) : ::fdatasync(fd)) == 0;
  if (!out.synced) out.failure = errno;
  return out;
}

// Bytes written: all, or fewer when something went wrong after the first.
Outcome<std::uint32_t> result_of(const Written& written, int flags) {
  if (written.failure != 0 && (written.count == 0 || !written.synced)) {
    // Of a stable write nobody can say whether the bytes or the medium failed, and a pipe is empty by now.
    if (flags != 0) return late(error_of(written.failure));
    return base::fail(error_of(written.failure));
  }
  return static_cast<std::uint32_t>(written.count);
}

}  // namespace

Outcome<FileData::Use> FileData::use() const {
  Use out;
  if (lent()) return out;
  out.keep = FileRef(&file_);
  if (!file_.parked()) [[likely]]
    out.fd = file_.shared_fd(access_);
  if (out.fd >= 0) [[likely]]
    return out;
  const auto fd = tree_.shared_descriptor(file_, access_);
  if (!fd) return base::fail(fd.error());
  out.fd = *fd;
  return out;
}

// The attributes are those before the read: a client never takes old data for the data of a newer ctime.
Outcome<ReadPlan> FileData::plan_checked(std::uint64_t offset, std::uint32_t count) const {
  const auto now = admit_read();
  if (!now) return base::fail(now.error());
  ReadPlan plan{.size = now->size, .attributes = *now};
  if (offset >= now->size) return plan;
  plan.bytes = static_cast<std::size_t>(std::min<std::uint64_t>(count, now->size - offset));
  const auto fd = tree_.data_descriptor(file_, Opened::read);
  if (!fd) return base::fail(fd.error());
  plan.fd = *fd;
  return plan;
}

Outcome<Attributes> FileData::admit_read(Stat* inode) const {
  if (!lent()) {
    if (!includes(access_, OpenAccess::read)) return base::fail(Error::acces);
    return Attributes{};
  }
  if (auto regular = require_regular(file_); !regular) return base::fail(regular.error());
  auto now = tree_.live_attributes(file_, inode);
  if (!now) return now;
  if (auto permitted = tree_.permit_data(*lent_to_, file_, R_OK, *now); !permitted)
    return base::fail(permitted.error());
  return now;
}

Outcome<Attributes> FileData::admit_and_look(Stat& inode) const {
  auto admitted = admit_read(&inode);
  if (!admitted || lent()) return admitted;
  const auto now = tree_.observe(file_, &inode);
  if (!now) return base::fail(now.error());
  return admitted;
}

Outcome<ReadPlan> FileData::plan_opened(std::uint64_t offset, std::uint32_t count) const {
  if (!includes(access_, OpenAccess::read)) return base::fail(Error::acces);
  auto use = this->use();
  if (!use) return base::fail(use.error());
  // What ends before the end that was seen last is read without looking again. Where a local process has cut
  // the file short meanwhile, the read is short.
  if (const std::uint64_t seen = file_.size_seen(); offset < seen && count < seen - offset)
    return ReadPlan{
        .fd = use->fd, .keep = std::move(use->keep), .bytes = count, .size = seen, .attributes = {}};
  const auto now = tree_.observe(file_);
  if (!now) return base::fail(now.error());
  ReadPlan plan{.fd = use->fd, .keep = std::move(use->keep), .size = now->size, .attributes = {}};
  if (offset < now->size)
    plan.bytes = static_cast<std::size_t>(std::min<std::uint64_t>(count, now->size - offset));
  return plan;
}

// As the caller where set-id bits or reserved blocks matter, so that the kernel clears the ones and keeps
// ordinary users from the others; where neither can happen the switch is saved.
Outcome<WriteResult> FileData::write_checked(const Credentials& who, std::uint64_t offset,
                                             const io::Payload& data, Stability stability, Wcc* wcc) const {
  const bool in_memory = tree_.base().traits.in_memory;
  // Taken before the data is written: if some gets lost meanwhile, the client sees that it has changed.
  const Verifier verifier = tree_.write_verifier();
  // The attributes after it are looked at whoever asks for them.
  Wcc around;
  Wcc& seen = wcc != nullptr ? *wcc : around;
  WriteResult result;
  {
    const Change change(tree_, file_, &seen);
    if (auto allowed = change.allowed(who); !allowed) return base::fail(allowed.error());
    if (auto regular = require_regular(file_); !regular) return base::fail(regular.error());
    if (!base::end_of<std::uint64_t>(offset, data.size(), offset_max)) return base::fail(Error::fbig);
    if (auto permitted = tree_.permit_data(who, file_, W_OK, change.before()); !permitted)
      return base::fail(permitted.error());
    const auto fd = tree_.data_descriptor(file_, Opened::write);
    if (!fd) return base::fail(fd.error());
    const bool as_caller = tree_.base().traits.privileged_blocks || (change.before().mode & set_id_bits) != 0;
    const auto written =
        put(as_caller ? &who : nullptr, *fd, offset, data, in_memory ? 0 : flags_of(stability));
    if (!written) return base::fail(written.error());
    result = {*written, in_memory ? Stability::file_sync : stability, verifier};
  }
  // Whoever removed the last name meanwhile took the data along.
  if (seen.after && seen.after->nlink == 0 && !file_.held_open()) return base::fail(Error::stale);
  return result;
}

Outcome<> FileData::may_write(const Credentials& who) const {
  if (!includes(access_, OpenAccess::write)) return base::fail(Error::acces);
  // Made so by a reload, since it was opened.
  if (tree_.opens().read_only || who.read_only) return base::fail(Error::rofs);
  return {};
}

Outcome<WriteResult> FileData::write_opened(const Credentials& who, std::uint64_t offset,
                                            const io::Payload& data, Stability stability, Wcc* wcc) const {
  const auto use = this->use();
  if (!use) return base::fail(use.error());
  std::optional<Change> change;
  if (wcc != nullptr) change.emplace(tree_, file_, wcc);
  if (auto allowed = may_write(who); !allowed) return base::fail(allowed.error());
  if (!base::end_of<std::uint64_t>(offset, data.size(), offset_max)) return base::fail(Error::fbig);
  return write_through(who, use->fd, offset, data, stability);
}

Outcome<WriteResult> FileData::write_through(const Credentials& who, int fd, std::uint64_t offset,
                                             const io::Payload& data, Stability stability) const {
  auto written = put_through(who, fd, offset, data, stability);
  file_.changes().changed();
  return written;
}

Outcome<WriteResult> FileData::put_through(const Credentials& who, int fd, std::uint64_t offset,
                                           const io::Payload& data, Stability stability) const {
  const bool in_memory = tree_.base().traits.in_memory;
  const int flags = in_memory ? 0 : flags_of(stability);
  const Verifier verifier = tree_.write_verifier();  // before the data is written, as above
  bool as_caller = tree_.base().traits.privileged_blocks;
  if (!as_caller) {
    const auto stat = stat_of(fd);
    if (!stat) return base::fail(stat.error());
    as_caller = (stat->stx_mode & set_id_bits) != 0;
  }
  const auto written = put(as_caller ? &who : nullptr, fd, offset, data, flags);
  if (!written) return base::fail(written.error());
  return WriteResult{*written, in_memory ? Stability::file_sync : stability, verifier};
}

Outcome<std::uint32_t> FileData::put(const Credentials* who, int fd, std::uint64_t offset,
                                     const io::Payload& data, int flags) const {
  WriteBack& write_back = tree_.write_back();
  const bool in_memory = tree_.base().traits.in_memory;
  // Network file systems tell a writer of earlier write-backs, whether the write is stable or not.
  const bool hears = flags != 0 || !tree_.base().traits.local;
  std::optional<FileSyncs::Hearing> hearing;
  std::optional<FileSyncs::UnsyncedWrite> unsynced;
  if (flags == 0 && !in_memory) unsynced.emplace(file_.syncs(write_back), fd);
  if (hears) hearing.emplace(file_.syncs(write_back));
  const auto write = [&]() -> Outcome<Written> { return write_payload(fd, offset, data, flags); };
  const auto written = who != nullptr ? tree_.identity().as(*who, write) : write();
  if (!written) return base::fail(written.error());
  // After its first bytes a write fails for what the medium has not taken, as far as anybody can tell.
  const bool failed = written->failure != 0 && (hears || written->count > 0);
  if (failed && !hears) write_back.lost();
  if (hears && flags == 0) hearing->leave(failed);
  if (flags != 0 && !hearing->end(failed) && !failed) return late(Error::io);
  return result_of(*written, flags);
}

// When another's sync has failed meanwhile, the client sees by the verifier that its bytes may be gone. Where
// this one fails the error is told, whatever it is, as it would be to a local process: to try again later
// would find nothing to sync.
Outcome<bool> FileData::sync() const {
  const auto done = file_.syncs(tree_.write_back()).commit(lent() ? file_.fd() : fd());
  if (!done) return base::fail(done.error());
  if (done->failure != 0) return late(error_of(done->failure));
  return done->called;
}

Outcome<> FileData::begin_change(const Credentials& who, Wcc* wcc, Changes what,
                                 std::optional<Change>& change) const {
  if (needs_change(wcc)) change.emplace(tree_, file_, wcc, what);
  if (!lent()) return may_write(who);
  if (auto allowed = change->allowed(who); !allowed) return allowed;
  if (auto regular = require_regular(file_); !regular) return regular;
  return tree_.permit_data(who, file_, W_OK, change->before());
}

// The verifier is taken after the data is on the medium: if some was lost before, it has changed by then.
Outcome<Verifier> FileData::commit_own(bool inode) const {
  if (!tree_.base().traits.in_memory) {
    const auto synced = sync();
    if (!synced) return base::fail(synced.error());
    if (inode && !*synced)
      if (auto done = tree_.sync_stub(file_); !done) return base::fail(done.error());
  }
  return tree_.write_verifier();
}

Outcome<Verifier> FileData::commit(const Credentials& who, Wcc* wcc) const {
  const auto use = this->use();
  if (!use) return base::fail(use.error());
  std::optional<Change> change;
  if (auto begun = begin_change(who, wcc, Changes::nothing, change); !begun) return base::fail(begun.error());
  return commit_own(false);
}

Outcome<> FileData::admit_resize(const Credentials& who, std::uint64_t size, const Attributes& now) const {
  if (lent())
    if (auto regular = require_regular(file_); !regular) return regular;
  if (!includes(access_, OpenAccess::write)) return base::fail(Error::acces);
  if (size > offset_max) return base::fail(Error::fbig);
  return lent() ? tree_.permit_data(who, file_, W_OK, now) : Outcome<>();
}

Outcome<> FileData::resize(const Credentials& who, std::uint64_t size, const Attributes& now) const {
  if (auto admitted = admit_resize(who, size, now); !admitted) return admitted;
  const auto use = this->use();
  if (!use) return base::fail(use.error());
  if (!lent()) return resize_through(who, use->fd, size);
  // One more descriptor would be in the way of whoever has it open.
  if (const auto other = file_.any_open(OpenAccess::write); other != nullptr)
    return resize_through(who, other->fd(), size);
  const auto opened = tree_.data_descriptor(file_, Opened::write);
  return opened ? resize_through(who, *opened, size) : base::fail(opened.error());
}

Outcome<> FileData::resize_through(const Credentials& who, int fd, std::uint64_t size) const {
  return tree_.identity().as(who, [&] { return outcome_of(::ftruncate(fd, static_cast<off_t>(size))); });
}

}  // namespace braid::vfs::posix
