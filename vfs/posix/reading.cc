// READ and READLINK: the calls that bring payload.
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "vfs/posix/file_system.h"

namespace braid::vfs::posix {
namespace {

// Bytes of a target that readlink() gives at most (vfs/file_system.h).
constexpr std::size_t target_bytes_max = 4096;

}  // namespace

// Memory for the data of one READ: a piece of the cursor's slab when it is small, large slabs otherwise.
// Taken and finished on the thread that the cursor belongs to; filled on any.
class FileIo::ReadBuffer {
 public:
  static Outcome<ReadBuffer> take(io::SlabCursor& cursor, std::size_t bytes) {
    ReadBuffer out;
    if (bytes <= io::small_slab_bytes) {
      if (bytes == 0) return out;
      auto range = cursor.carve(bytes);
      if (!range) return base::fail(error_of(base::number_of(range.error())));
      out.small_ = std::move(*range);
      out.data_.append(out.small_);
      return out;
    }
    while (out.data_.size() < bytes) {
      auto slab = cursor.pool().acquire(io::SlabSize::large);
      if (!slab) return base::fail(error_of(base::number_of(slab.error())));
      const std::size_t length = std::min(bytes - out.data_.size(), io::large_slab_bytes);
      out.data_.append({std::move(*slab), 0, static_cast<std::uint32_t>(length)});
    }
    return out;
  }

  [[nodiscard]] bool full() const { return filled_ == data_.size(); }
  [[nodiscard]] std::size_t filled() const { return filled_; }

  // Reads on from where it stopped; stops at the end of the file. `flags` as in preadv2(2).
  Outcome<> fill(int fd, std::uint64_t offset, int flags) {
    while (!full()) {
      std::array<iovec, 16> vectors;
      const std::size_t used = io::to_iovecs(data_, filled_, vectors);
      const ssize_t got =
          ::preadv2(fd, vectors.data(), static_cast<int>(used), static_cast<off_t>(offset + filled_), flags);
      if (got < 0) return failed_call();
      if (got == 0) return {};
      filled_ += static_cast<std::size_t>(got);
    }
    return {};
  }

  ReadResult finish(io::SlabCursor& cursor, std::uint64_t offset, const ReadPlan& plan) {
    ReadResult out;
    out.attributes = plan.attributes;
    // A short read met the end of the file.
    out.eof = !full() || offset + filled_ >= plan.size;
    if (full()) {
      out.data = std::move(data_);
    } else if (small_.length > 0) {
      cursor.trim(small_, filled_);
      out.data.append(small_);
    } else {
      out.data = data_.slice(0, filled_);
    }
    return out;
  }

 private:
  io::SlabRange small_;  // the range in data_, as carved
  io::Payload data_;
  std::size_t filled_ = 0;
};

namespace {

// The data by reference to the page cache, when all of it is there or `may_wait`; nothing when it cannot be
// had so.
std::optional<ReadResult> splice(const ReadPlan& plan, std::uint64_t offset, const ReadMemory& memory,
                                 bool may_wait) {
  // Below this size a copy is cheaper than two system calls on a pipe.
  if (memory.pipes == nullptr || plan.bytes <= io::small_slab_bytes) return std::nullopt;
  if (!may_wait && !in_page_cache(plan.fd, offset, plan.bytes)) return std::nullopt;
  auto pipe = memory.pipes->take();
  if (!pipe) return std::nullopt;
  const auto moved = pipe->pipe()->fill(plan.fd, offset, plan.bytes);
  if (!moved || *moved == 0) return std::nullopt;
  // A pipe holds so many pages, whole or not, so what does not begin on a page may not fit. The reply is then
  // shorter than asked for (RFC 1813 3.3.6) and the client reads on.
  ReadResult out;
  out.attributes = plan.attributes;
  out.eof = offset + *moved >= plan.size;
  out.data.append({std::move(*pipe), 0, static_cast<std::uint32_t>(*moved)});
  return out;
}

}  // namespace

VfsOp<ReadResult> FileIo::read(std::uint64_t offset, std::uint32_t count, ReadMemory memory) {
  if (data_.node().content() == nullptr) [[likely]]
    return read_own(offset, count, memory);
  if (auto use = plain_use()) return in_use(std::move(*use), read_own(offset, count, memory));
  return read_content(offset, count, memory);
}

// What the page cache has is read at once; only the rest is worth a thread switch.
VfsOp<ReadResult> FileIo::read_own(std::uint64_t offset, std::uint32_t count, ReadMemory memory) {
  const PlacementPolicy policy = fs_.placement().policy();
  const bool may_wait = policy == PlacementPolicy::inline_always || io::Reactor::current() == nullptr;
  if (!may_wait && policy == PlacementPolicy::pool_always) return read_in_pool(offset, count, memory);
  const auto plan = data_.plan_read(offset, count);
  if (!plan) return base::fail(plan.error());
  if (auto spliced = splice(*plan, offset, memory, may_wait)) return std::move(*spliced);
  auto buffer = ReadBuffer::take(memory.cursor, plan->bytes);
  if (!buffer) return base::fail(buffer.error());
  const auto filled = buffer->fill(plan->fd, offset, may_wait ? 0 : RWF_NOWAIT);
  if (filled) return buffer->finish(memory.cursor, offset, *plan);
  // EAGAIN: not in the page cache; EOPNOTSUPP: the file system cannot tell.
  if (may_wait || (filled.error() != Error::delay && filled.error() != Error::notsupp))
    return base::fail(filled.error());
  return read_rest(*plan, std::move(*buffer), offset, memory);
}

// Its caller keeps the open or the file of the cache, and with it the descriptor of the plan.
VfsOp<ReadResult> FileIo::read_rest(ReadPlan plan, ReadBuffer buffer, std::uint64_t offset,
                                    ReadMemory memory) {
  co_await fs_.placement().run_blocking(Call::read, [&] { return buffer.fill(plan.fd, offset, 0); });
  co_return buffer.finish(memory.cursor, offset, plan);
}

// Looking at the file and reading it both wait; in between, memory is taken on the cursor's thread.
VfsOp<ReadResult> FileIo::read_in_pool(std::uint64_t offset, std::uint32_t count, ReadMemory memory) {
  const ReadPlan plan = co_await fs_.placement().run(
      Call::read, [this, offset, count] { return data_.plan_read(offset, count); });
  ReadBuffer buffer = co_await ReadBuffer::take(memory.cursor, plan.bytes);
  co_return co_await read_rest(plan, std::move(buffer), offset, memory);
}

VfsOp<io::Payload> PosixFileSystem::readlink(const Credentials& /*who*/, const FileRef& link) {
  auto slab = slabs_->acquire(io::SlabSize::small);
  if (!slab) return base::fail(error_of(base::number_of(slab.error())));
  return placement_.run(Call::readlink, [this, &link, slab = std::move(*slab)]() -> Outcome<io::Payload> {
    const auto size = tree_.readlink(node(link), {slab.data(), target_bytes_max});
    if (!size) return base::fail(size.error());
    return io::Payload(io::SlabRange{slab, 0, static_cast<std::uint32_t>(*size)});
  });
}

}  // namespace braid::vfs::posix
