// READ, WRITE and COMMIT.
#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "base/arith.h"
#include "base/assert.h"
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

// Another description of the same object, with the server's rights.
Outcome<base::UniqueFd> Tree::open_again(const PosixFile& file, int flags) {
  if (!transient_) {
    const auto opened = codec_.open(file.handle().view());
    auto fd = open_kernel_handle(root_.fd.get(), opened->body.type, opened->body.bytes, flags);
    if (fd || fd.error() != Error::stale) return fd;
  }
  // What has lost its last name has no handle any more.
  return open_descriptor(file.fd(), flags);
}

// The same with the rights of the calling thread.
Outcome<base::UniqueFd> Tree::open_descriptor(int fd, int flags) const {
  base::UniqueFd fresh(::openat(root_.descriptors.get(), fmt::format("{}", fd).c_str(), flags));
  if (!fresh) return failed_call();
  return fresh;
}

// A descriptor that data can go through: the one the object has, or a better one in its place.
Outcome<int> Tree::data_descriptor(PosixFile& file, Opened wanted) {
  if (file.opened() >= wanted) return file.fd();
  // Opening a device or a fifo has effects of its own.
  base::check(
      file.type() == FileType::regular || (file.type() == FileType::directory && wanted == Opened::read),
      "data belongs to regular files");
  // Opened with the server's rights: what a caller may do with it is checked in every call. O_NONBLOCK: a
  // lease of a local program makes this fail with EAGAIN instead of waiting for it.
  const bool directory = file.type() == FileType::directory;
  const int flags = (wanted == Opened::write ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOCTTY | O_NONBLOCK |
                    (directory ? O_DIRECTORY : 0);
  const auto fresh = with_room([&] { return open_again(file, flags); });
  if (!fresh) return base::fail(fresh.error());
  if (auto done = file.upgrade(*fresh, wanted); !done) return base::fail(done.error());
  if (wanted == Opened::write) cache_.note_writer(file);
  return file.fd();
}

// The attributes are those before the read: a client never takes old data for the data of a newer ctime.
Outcome<ReadPlan> Tree::plan_read(const Credentials& who, PosixFile& file, std::uint64_t offset,
                                  std::uint32_t count) {
  if (auto regular = require_regular(file); !regular) return base::fail(regular.error());
  const auto now = live_attributes(file);
  if (!now) return base::fail(now.error());
  if (auto permitted = permit_data(who, file, R_OK, *now); !permitted) return base::fail(permitted.error());
  ReadPlan plan{.size = now->size, .attributes = *now};
  if (offset >= now->size) return plan;
  plan.bytes = static_cast<std::size_t>(std::min<std::uint64_t>(count, now->size - offset));
  const auto fd = data_descriptor(file, Opened::read);
  if (!fd) return base::fail(fd.error());
  plan.fd = *fd;
  return plan;
}

Outcome<WriteResult> Tree::write(const Credentials& who, PosixFile& file, std::uint64_t offset,
                                 const io::Payload& data, Stability stability, Wcc& wcc) {
  const bool in_memory = root_.traits.in_memory;
  // Taken before the data is written: if some gets lost meanwhile, the client sees that it has changed.
  const Verifier verifier = write_verifier();
  WriteResult result;
  {
    const Change change(*this, file, wcc);
    if (auto allowed = change.allowed(); !allowed) return base::fail(allowed.error());
    if (auto regular = require_regular(file); !regular) return base::fail(regular.error());
    if (!base::end_of<std::uint64_t>(offset, data.size(), offset_max)) return base::fail(Error::fbig);
    if (auto permitted = permit_data(who, file, W_OK, change.before()); !permitted)
      return base::fail(permitted.error());
    const auto written =
        write_data(who, file, offset, data, in_memory ? 0 : flags_of(stability), change.before());
    if (!written) return base::fail(written.error());
    result = {*written, in_memory ? Stability::file_sync : stability, verifier};
  }
  // Whoever removed the last name meanwhile took the data along.
  if (wcc.after && wcc.after->nlink == 0 && !file.held_open()) return base::fail(Error::stale);
  return result;
}

Outcome<ReadPlan> Tree::plan_read_open(const PosixOpenFile& open, std::uint64_t offset, std::uint32_t count) {
  if (!includes(open.access(), OpenAccess::read)) return base::fail(Error::acces);
  // What ends before the end that was seen last is read without looking again. Where a local process has cut
  // the file short meanwhile, the read is short.
  PosixFile& file = open.node();
  if (const std::uint64_t seen = file.size_seen(); offset < seen && count < seen - offset)
    return ReadPlan{.fd = open.fd(), .bytes = count, .size = seen, .attributes = {}};
  const auto now = observe(file);
  if (!now) return base::fail(now.error());
  ReadPlan plan{.fd = open.fd(), .size = now->size, .attributes = {}};
  if (offset < now->size)
    plan.bytes = static_cast<std::size_t>(std::min<std::uint64_t>(count, now->size - offset));
  return plan;
}

Outcome<WriteResult> Tree::write_open(const Credentials& who, const PosixOpenFile& open, std::uint64_t offset,
                                      const io::Payload& data, Stability stability) {
  if (auto allowed = may_write(open); !allowed) return base::fail(allowed.error());
  if (!base::end_of<std::uint64_t>(offset, data.size(), offset_max)) return base::fail(Error::fbig);
  const bool in_memory = root_.traits.in_memory;
  const int flags = in_memory ? 0 : flags_of(stability);
  const Verifier verifier = write_verifier();  // before the data is written, as in write()
  bool as_caller = root_.traits.privileged_blocks;
  if (!as_caller) {
    const auto stat = stat_of(open.fd());
    if (!stat) return base::fail(stat.error());
    as_caller = (stat->stx_mode & set_id_bits) != 0;
  }
  const auto written = put_data(as_caller ? &who : nullptr, open.node(), open.fd(), offset, data, flags);
  open.node().changes().changed();
  if (!written) return base::fail(written.error());
  return WriteResult{*written, in_memory ? Stability::file_sync : stability, verifier};
}

Outcome<std::uint32_t> Tree::write_data(const Credentials& who, PosixFile& file, std::uint64_t offset,
                                        const io::Payload& data, int flags, const Attributes& now) {
  const auto fd = data_descriptor(file, Opened::write);
  if (!fd) return base::fail(fd.error());
  // As the caller, so that the kernel clears set-id bits and keeps reserved blocks from ordinary users; where
  // neither can happen the switch is saved.
  const bool as_caller = root_.traits.privileged_blocks || (now.mode & set_id_bits) != 0;
  return put_data(as_caller ? &who : nullptr, file, *fd, offset, data, flags);
}

Outcome<std::uint32_t> Tree::put_data(const Credentials* who, PosixFile& file, int fd, std::uint64_t offset,
                                      const io::Payload& data, int flags) {
  // Network file systems tell a writer of earlier write-backs, whether the write is stable or not.
  const bool hears = flags != 0 || !root_.traits.local;
  std::optional<FileSyncs::Hearing> hearing;
  std::optional<FileSyncs::UnsyncedWrite> unsynced;
  if (flags == 0 && !root_.traits.in_memory) unsynced.emplace(file.syncs(*write_back_), fd);
  if (hears) hearing.emplace(file.syncs(*write_back_));
  const auto put = [&]() -> Outcome<Written> { return write_payload(fd, offset, data, flags); };
  const auto written = who != nullptr ? identity_.as(*who, put) : put();
  if (!written) return base::fail(written.error());
  // After its first bytes a write fails for what the medium has not taken, as far as anybody can tell.
  const bool failed = written->failure != 0 && (hears || written->count > 0);
  if (failed && !hears) write_back_->lost();
  if (hears && flags == 0) hearing->leave(failed);
  if (flags != 0 && !hearing->end(failed) && !failed) return late(Error::io);
  return result_of(*written, flags);
}

// The verifier is taken after the data is on the medium: if some was lost before, it has changed by then.
Outcome<Verifier> Tree::commit(const Credentials& who, PosixFile& file, Wcc& wcc) {
  const Change change(*this, file, wcc);
  if (auto allowed = change.allowed(); !allowed) return base::fail(allowed.error());
  if (auto regular = require_regular(file); !regular) return base::fail(regular.error());
  if (auto permitted = permit_data(who, file, W_OK, change.before()); !permitted)
    return base::fail(permitted.error());
  if (!root_.traits.in_memory)
    if (auto synced = sync_data(file); !synced) return base::fail(synced.error());
  return write_verifier();
}

}  // namespace braid::vfs::posix
