// Reading and writing a file whose bytes may be a content's.
#include <algorithm>
#include <optional>
#include <utility>

#include "base/arith.h"
#include "vfs/posix/content_change.h"
#include "vfs/posix/file_system.h"
#include "vfs/posix/stub.h"

namespace braid::vfs::posix {
namespace {

// What lies in pipes comes into memory, too: should the call be repeated, it is there still.
Outcome<io::Payload> into_memory(const io::Payload& data, io::SlabPool& slabs) {
  io::Payload out;
  for (const io::SlabRange& range : data.ranges()) {
    if (range.memory()) {
      out.append(range);
      continue;
    }
    for (std::size_t done = 0; done < range.length;) {
      auto slab = slabs.acquire(io::SlabSize::large);
      if (!slab) return base::fail(error_of(base::number_of(slab.error())));
      const std::size_t piece = std::min<std::size_t>(range.length - done, io::large_slab_bytes);
      io::SlabRange memory{std::move(*slab), 0, static_cast<std::uint32_t>(piece)};
      const auto copied = range.slab.pipe()->copy_to_memory(done, memory.writable());
      if (!copied) return base::fail(error_of(base::number_of(copied.error())));
      out.append(std::move(memory));
      done += piece;
    }
  }
  return out;
}

}  // namespace

VfsOp<FileRef> FileIo::pinned() {
  if (data_.lent()) return FileRef();
  return fs_.placement().run(Call::open, [this]() -> Outcome<FileRef> {
    auto use = data_.use();
    if (!use) return base::fail(use.error());
    return std::move(use->keep);
  });
}

VfsOp<ReadResult> FileIo::read_content(std::uint64_t offset, std::uint32_t count, ReadMemory memory) {
  const FileRef keep = co_await pinned();
  if (data_.lent()) (void)co_await fs_.contents().settle(data_.node());
  const ContentSlot::Use use = co_await fs_.contents().use(data_.node());
  if (use.content() == nullptr) co_return co_await read_own(offset, count, memory);
  const Attributes now = co_await fs_.placement().run(Call::getattr, [this] { return data_.admit_read(); });
  PosixStub stub(fs_, data_.node(), use.content()->source(), &data_);
  ReadResult out;
  out.eof = true;
  if (offset <= offset_max) out = co_await use.content()->read(stub, offset, count, memory);
  out.attributes = now;
  co_return std::move(out);
}

VfsOp<WriteResult> FileIo::write_content(const Credentials& who, std::uint64_t offset,
                                         const io::Payload& data, Stability stability, Wcc* wcc) {
  const FileRef keep = co_await pinned();
  const PlacementHint hint{.offset = offset, .bytes = data.size()};
  co_await fs_.contents().offer(data_, who, hint);
  const ContentSlot::Use use = co_await fs_.contents().use(data_.node());
  fs_.contents().note_changing(data_.node());
  if (use.content() == nullptr) co_return co_await write_own(who, offset, data, stability, wcc);
  Content& content = *use.content();
  PosixStub stub(fs_, data_.node(), content.source(), &data_);
  io::Payload memory;
  const auto write = [&]() -> VfsOp<WriteResult> {
    if (!base::end_of<std::uint64_t>(offset, data.size(), offset_max)) return base::fail(Error::fbig);
    if (!data.piped() || content.source().takes_pipes())
      return content.write(stub, who, offset, data, stability);
    auto taken = into_memory(data, fs_.slabs());
    if (!taken) return base::fail(taken.error());
    memory = std::move(*taken);
    return content.write(stub, who, offset, memory, stability);
  };
  const WriteResult result = co_await changing(who, wcc, Changes::something, write);
  // Whoever removed the last name meanwhile took the data along.
  if (data_.lent()) {
    const auto now = co_await fs_.placement()
                         .run(Call::getattr, [this] { return stat_of(data_.node().fd()); })
                         .as_result();
    if (!now) co_await base::Result<void, Error>(late(now.error()));
    if (now->stx_nlink == 0 && !data_.node().held_open()) co_await base::fail(Error::stale);
  }
  co_return result;
}

VfsOp<Verifier> FileIo::commit_content(const Credentials& who, std::uint64_t offset, std::uint32_t count,
                                       Wcc* wcc) {
  const FileRef keep = co_await pinned();
  const ContentSlot::Use use = co_await fs_.contents().use(data_.node());
  if (use.content() == nullptr) co_return co_await commit_own(who, wcc);
  PosixStub stub(fs_, data_.node(), use.content()->source(), &data_);
  const auto commit = [&]() -> VfsOp<Verifier> { return use.content()->commit(stub, who, offset, count); };
  co_return co_await changing(who, wcc, Changes::nothing, commit);
}

// Everything but the size is the inode's.
VfsOp<> FileIo::set_with_content(const Credentials& who, const SetAttributes& set, std::optional<Time> guard,
                                 Wcc* wcc) {
  const FileRef keep = co_await pinned();
  const PlacementHint hint{.offset = *set.size, .bytes = 0};
  if (*set.size > 0) co_await fs_.contents().offer(data_, who, hint);
  const ContentSlot::Use use = co_await fs_.contents().use(data_.node());
  fs_.contents().note_changing(data_.node());
  if (use.content() == nullptr) {
    co_await set_own(who, set, guard, wcc);
    co_return;
  }
  Tree& tree = fs_.tree();
  PosixStub stub(fs_, data_.node(), use.content()->source(), &data_);
  Setting setting;
  const auto begin = [&]() -> Outcome<> {
    if (auto begun = tree.begin_setting(who, data_, set, guard, wcc, setting); !begun) return begun;
    return data_.admit_resize(who, *set.size, setting.change->before());
  };
  base::Result<void, Error> done = co_await fs_.placement().run(Call::getattr, begin).as_result();
  if (done) done = co_await use.content()->resize(stub, who, *set.size).as_result();
  const auto end = [&]() -> Outcome<> {
    if (!done) {
      setting.own.reset();
      setting.change.reset();
      return base::fail(done.error());
    }
    if (auto ended = tree.end_setting(who, data_, set, setting); !ended) return base::fail(ended.error());
    return {};
  };
  const bool syncs = done && (data_.lent() ? tree.syncs() : tree.opens_sync());
  co_await fs_.change(syncs, end);
}

VfsOp<> FileIo::space_content(const Credentials& who, std::uint64_t offset, std::uint64_t length,
                              Space space) {
  const FileRef keep = co_await pinned();
  const PlacementHint hint{.offset = offset, .bytes = length};
  if (space == Space::allocated) co_await fs_.contents().offer(data_, who, hint);
  const ContentSlot::Use use = co_await fs_.contents().use(data_.node());
  fs_.contents().note_changing(data_.node());
  if (use.content() == nullptr) {
    const int mode = space == Space::hole ? FileData::hole : 0;
    co_await fs_.placement().run_long(Call::space, [this, &who, offset, length, mode] {
      return data_.allocate(who, offset, length, mode);
    });
    co_return;
  }
  co_await data_.admit_allocate(who, offset, length);
  PosixStub stub(fs_, data_.node(), use.content()->source(), &data_);
  const auto change = [&]() -> VfsOp<> {
    return space == Space::hole ? use.content()->deallocate(stub, who, offset, length)
                                : use.content()->allocate(stub, who, offset, length);
  };
  co_await changing(who, nullptr, Changes::something, change);
}

VfsOp<SeekResult> FileIo::seek_content(std::uint64_t offset, SeekTo what, std::uint64_t until) {
  const FileRef keep = co_await pinned();
  const ContentSlot::Use use = co_await fs_.contents().use(data_.node());
  if (use.content() == nullptr)
    co_return co_await fs_.placement().run(Call::seek,
                                           [this, offset, what] { return data_.seek(offset, what); });
  if (offset > offset_max) co_await base::fail(Error::nxio);
  PosixStub stub(fs_, data_.node(), use.content()->source(), &data_);
  co_return co_await use.content()->seek(stub, offset, what, until);
}

// Advice is about the kernel's cache of the file's own bytes.
VfsOp<> FileIo::advise_content(std::uint64_t offset, std::uint64_t length, Advice advice) {
  const FileRef keep = co_await pinned();
  const ContentSlot::Use use = co_await fs_.contents().use(data_.node());
  if (use.content() != nullptr) co_return;
  co_await fs_.placement().run_blocking(
      Call::read, [this, offset, length, advice] { return data_.advise(offset, length, advice); });
}

}  // namespace braid::vfs::posix
