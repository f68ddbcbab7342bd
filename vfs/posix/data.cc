// READ, WRITE and COMMIT.
#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/arith.h"
#include "base/assert.h"
#include "vfs/posix/tree.h"

namespace braid::vfs::posix {
namespace {

constexpr std::uint32_t set_id_bits = 06000;
constexpr std::uint64_t offset_max = std::numeric_limits<off_t>::max();

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

// Bytes written: all, or fewer when something went wrong after the first.
Outcome<std::uint32_t> write_payload(int fd, std::uint64_t offset, const io::Payload& data, int flags) {
  std::size_t written = 0;
  while (written < data.size()) {
    std::array<iovec, 64> vectors;
    const std::size_t used = io::to_iovecs(data, written, vectors);
    const ssize_t put =
        ::pwritev2(fd, vectors.data(), static_cast<int>(used), static_cast<off_t>(offset + written), flags);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && written == 0) return failed_call();
    if (put <= 0) break;
    written += static_cast<std::size_t>(put);
  }
  return static_cast<std::uint32_t>(written);
}

}  // namespace

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
  const auto open = [&]() -> Outcome<base::UniqueFd> {
    if (!transient_) {
      const auto opened = codec_.open(file.handle().view());
      return open_kernel_handle(root_.fd.get(), opened->body.type, opened->body.bytes, flags);
    }
    base::UniqueFd fd(::openat(root_.descriptors.get(), fmt::format("{}", file.fd()).c_str(), flags));
    if (!fd) return failed_call();
    return fd;
  };
  const auto fresh = with_room(open);
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
  ReadPlan plan{*now, -1, 0};
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
    result = {*written, in_memory ? Stability::file_sync : stability};
  }
  // Whoever removed the last name meanwhile took the data along.
  if (wcc.after && wcc.after->nlink == 0) return base::fail(Error::stale);
  return result;
}

Outcome<std::uint32_t> Tree::write_data(const Credentials& who, PosixFile& file, std::uint64_t offset,
                                        const io::Payload& data, int flags, const Attributes& now) {
  const auto fd = data_descriptor(file, Opened::write);
  if (!fd) return base::fail(fd.error());
  const auto put = [&] { return write_payload(*fd, offset, data, flags); };
  // As the caller, so that the kernel clears set-id bits and keeps reserved blocks from ordinary users; where
  // neither can happen the switch is saved.
  const bool as_caller = root_.traits.privileged_blocks || (now.mode & set_id_bits) != 0;
  auto written = as_caller ? identity_.as(who, put) : put();
  if (!written && written.error() == Error::io && flags != 0) lost_writes();
  return written;
}

Outcome<> Tree::commit(const Credentials& who, PosixFile& file, Wcc& wcc) {
  const Change change(*this, file, wcc);
  if (auto allowed = change.allowed(); !allowed) return allowed;
  if (auto regular = require_regular(file); !regular) return regular;
  if (auto permitted = permit_data(who, file, W_OK, change.before()); !permitted) return permitted;
  if (root_.traits.in_memory) return {};
  const auto fd = data_descriptor(file, Opened::read);
  if (!fd) return base::fail(fd.error());
  if (::fsync(*fd) == 0) return {};
  const auto failure = failed_call();
  lost_writes();
  return failure;
}

}  // namespace braid::vfs::posix
