// READ and READLINK: the calls that bring payload.
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <utility>
#include <vector>

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
    return fill_to(data_.size(), fd, offset + filled_, flags);
  }
  // The next bytes are those of the slice, or as many of them as the file has.
  Outcome<> fill(const FileSlice& slice, int flags) {
    const std::size_t end = filled_ + slice.length;
    return slice.fd >= 0 ? fill_to(end, slice.fd, slice.offset, flags) : clear_to(end);
  }

  // All of it, once it is full.
  io::Payload take_data() { return std::move(data_); }
  void drop(io::SlabCursor& cursor) {
    if (small_.length > 0) cursor.trim(small_, 0);
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
  static constexpr std::size_t vectors_max = 16;
  // Where bytes [filled_, end) go, or the first of them.
  std::size_t room_to(std::size_t end, std::array<iovec, vectors_max>& vectors) const {
    std::size_t left = end - filled_, used = io::to_iovecs(data_, filled_, vectors);
    for (std::size_t i = 0; i < used; ++i) {
      vectors[i].iov_len = std::min(vectors[i].iov_len, left);
      left -= vectors[i].iov_len;
      if (left == 0) used = i + 1;
    }
    return used;
  }
  Outcome<> fill_to(std::size_t end, int fd, std::uint64_t offset, int flags) {
    while (filled_ < end) {
      std::array<iovec, vectors_max> vectors;
      const std::size_t used = room_to(end, vectors);
      const ssize_t got =
          ::preadv2(fd, vectors.data(), static_cast<int>(used), static_cast<off_t>(offset), flags);
      if (got < 0) return failed_call();
      if (got == 0) return {};
      filled_ += static_cast<std::size_t>(got);
      offset += static_cast<std::uint64_t>(got);
    }
    return {};
  }
  Outcome<> clear_to(std::size_t end) {
    while (filled_ < end) {
      std::array<iovec, vectors_max> vectors;
      const std::size_t used = room_to(end, vectors);
      for (const iovec& vector : std::span(vectors).first(used)) {
        std::memset(vector.iov_base, 0, vector.iov_len);
        filled_ += vector.iov_len;
      }
    }
    return {};
  }

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

// Neighbours in a file are asked about at once: what lies between them is on pages of theirs.
bool all_in_page_cache(const std::vector<FileSlice>& slices) {
  constexpr std::uint64_t page_bytes = 4096;
  for (auto slice = slices.begin(); slice != slices.end();) {
    const int fd = slice->fd;
    const std::uint64_t begin = slice->offset;
    std::uint64_t end = begin;
    for (;
         slice != slices.end() && slice->fd == fd && slice->offset >= end && slice->offset - end < page_bytes;
         ++slice)
      end = slice->offset + slice->length;
    if (!in_page_cache(fd, begin, end - begin)) return false;
  }
  return true;
}

// As splice() above, in as many pipes as it takes: what does not begin on a page takes more room.
io::Payload splice(const std::vector<FileSlice>& slices, std::size_t bytes, const ReadMemory& memory,
                   bool may_wait) {
  if (memory.pipes == nullptr || bytes <= io::small_slab_bytes) return {};
  if (std::ranges::any_of(slices, [](const FileSlice& slice) { return slice.fd < 0; })) return {};
  if (!may_wait && !all_in_page_cache(slices)) return {};
  io::Payload out;
  io::SlabRef pipe;
  std::uint32_t inside = 0;
  for (FileSlice left : slices)
    while (left.length > 0) {
      auto taken = pipe ? base::Result<io::SlabRef>(std::exchange(pipe, {})) : memory.pipes->take();
      if (!taken) return out;
      const auto moved = taken->pipe()->fill(left.fd, left.offset, left.length);
      if (!moved) return {};
      inside += static_cast<std::uint32_t>(*moved);
      // Not even an empty pipe takes anything: the file has ended.
      if (inside == 0) return out;
      left.offset += *moved;
      left.length -= static_cast<std::uint32_t>(*moved);
      if (left.length == 0)
        pipe = std::move(*taken);
      else
        out.append({std::move(*taken), 0, std::exchange(inside, 0)});
    }
  if (pipe) out.append({std::move(pipe), 0, inside});
  return out;
}

}  // namespace

VfsOp<ReadResult> FileIo::read(std::uint64_t offset, std::uint32_t count, ReadMemory memory) {
  if (data_.node().content() == nullptr) [[likely]]
    return read_own(offset, count, memory);
  {
    std::optional<ContentSlot::Use> use = data_.node().content()->slot.enter();
    if (use && use->content() == nullptr) return in_use(std::move(*use), read_own(offset, count, memory));
    if (use)
      if (auto out = read_located(*use->content(), offset, count, memory)) return std::move(*out);
  }
  return read_content(offset, count, memory);
}

std::optional<ReadResult> FileIo::read_located(Content& content, std::uint64_t offset, std::uint32_t count,
                                               const ReadMemory& memory) {
  const bool may_wait = io::Reactor::current() == nullptr;
  if (!may_wait && fs_.placement().policy() == PlacementPolicy::pool_always) return std::nullopt;
  if (content.unsettled() || offset > offset_max) return std::nullopt;
  // An open has its descriptor meanwhile.
  const auto open = data_.use();
  if (!open) return std::nullopt;
  ReadResult out;
  const auto look = [this, &out]() -> Outcome<Content::Inode> {
    Stat inode{};
    auto admitted = data_.admit_and_look(inode);
    if (!admitted) return base::fail(admitted.error());
    out.attributes = *admitted;
    return Content::Inode{
        .size = inode.stx_size, .space = inode.stx_blocks * 512, .block_bytes = inode.stx_blksize};
  };
  Located where;
  if (!content.locate(offset, count, look, where)) return std::nullopt;
  std::size_t bytes = 0;
  for (const FileSlice& slice : where.slices) bytes += slice.length;
  out.data = splice(where.slices, bytes, memory, may_wait);
  if (out.data.size() == 0 && bytes > 0) {
    auto buffer = ReadBuffer::take(memory.cursor, bytes);
    if (!buffer) return std::nullopt;
    const bool there = std::ranges::all_of(where.slices, [&](const FileSlice& slice) {
      return buffer->fill(slice, may_wait ? 0 : RWF_NOWAIT).has_value();
    });
    // A file that has become shorter is not what it was.
    if (!there || !buffer->full()) {
      buffer->drop(memory.cursor);
      return std::nullopt;
    }
    out.data = buffer->take_data();
  }
  out.eof = offset + out.data.size() >= where.size;
  return out;
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
