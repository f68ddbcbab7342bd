// CLONE and COPY where either file may have a content.
#include <algorithm>
#include <optional>

#include "base/arith.h"
#include "vfs/posix/content_change.h"
#include "vfs/posix/file_system.h"
#include "vfs/posix/stub.h"

namespace braid::vfs::posix {

struct PosixOpenFile::BothHeld {
  std::optional<ContentHold> from;  // none: it can have no content
  std::optional<ContentSlot::Use> to;

  [[nodiscard]] Content* source() const { return from ? from->use.content() : nullptr; }
  [[nodiscard]] Content* target() const { return to ? to->content() : nullptr; }
  [[nodiscard]] bool plain() const { return source() == nullptr && target() == nullptr; }
  [[nodiscard]] bool related() const {
    return source() != nullptr && target() != nullptr && &source()->source() == &target()->source();
  }
};

VfsOp<ContentHold> PosixOpenFile::hold_content() {
  FileRef keep = co_await pinned();
  ContentSlot::Use use = co_await fs_.contents().use(node());
  std::unique_ptr<Stub> stub;
  if (use.content() != nullptr)
    stub = std::make_unique<PosixStub>(fs_, std::move(keep), use.content()->source(), &data_);
  ContentHold held{std::move(use), std::move(stub)};
  co_return std::move(held);
}

// Two copies in opposite directions would wait for two exchanges, and these for them.
VfsOp<> PosixOpenFile::hold_both(OpenFile& from, BothHeld& held) {
  for (;;) {
    if (from.may_have_content()) {
      ContentHold source = co_await from.hold_content();
      held.from.emplace(std::move(source));
    }
    if (node().content() == nullptr) co_return;
    std::optional<ContentSlot::Use> target = node().content()->slot.enter();
    if (target) {
      fs_.contents().note_changing(node());
      held.to.emplace(std::move(*target));
      co_return;
    }
    held.from.reset();
    {
      const ContentSlot::Use waited = co_await fs_.contents().use(node());
    }
  }
}

// A plain file that gets bytes of one with a content may have such a content before.
VfsOp<> PosixOpenFile::hold_related(const Credentials& who, OpenFile& from, PlacementHint hint,
                                    BothHeld& held) {
  co_await hold_both(from, held);
  if (held.source() == nullptr || held.target() != nullptr || !held.to) co_return;
  ContentSource& source = held.source()->source();
  if (!source.shares_bytes() || !fs_.contents().has(source)) co_return;
  co_await data_.may_copy(who, from);
  held.to.reset();
  held.from.reset();
  hint.shares = true;
  // Where it is not placed the bytes are copied, or the call says so.
  (void)co_await fs_.contents().place(node(), source, hint).as_result();
  co_await hold_both(from, held);
}

VfsOp<> PosixOpenFile::clone_content(const Credentials& who, OpenFile& from, std::uint64_t from_offset,
                                     std::uint64_t to_offset, std::uint64_t length) {
  const FileRef keep = co_await pinned();
  BothHeld held;
  co_await hold_related(who, from, {.offset = to_offset, .bytes = length}, held);
  if (held.plain()) {
    co_await fs_.placement().run_long(Call::space, [this, &who, &from, from_offset, to_offset, length] {
      return data_.clone_from(who, from, from_offset, to_offset, length);
    });
    co_return;
  }
  co_await data_.may_copy(who, from);
  if (!held.related()) co_await base::fail(Error::notsupp);
  const bool fits = base::end_of<std::uint64_t>(from_offset, length, offset_max) &&
                    base::end_of<std::uint64_t>(to_offset, length, offset_max);
  if (!fits) co_await base::fail(Error::fbig);
  const Content::Range range{*held.source(), *held.from->stub, from_offset, length};
  PosixStub stub(fs_, node(), held.target()->source(), &data_);
  const auto clone = [&]() -> VfsOp<> { return held.target()->clone_from(stub, who, range, to_offset); };
  co_await changing(who, nullptr, Changes::something, clone);
}

VfsOp<std::uint64_t> PosixOpenFile::copy_content(const Credentials& who, OpenFile& from,
                                                 std::uint64_t from_offset, std::uint64_t to_offset,
                                                 std::uint64_t length) {
  const FileRef keep = co_await pinned();
  const PlacementHint hint{.offset = to_offset, .bytes = length};
  if (node().content() != nullptr) co_await fs_.contents().offer(data_, who, hint);
  {
    BothHeld held;
    co_await hold_related(who, from, hint, held);
    if (held.plain())
      co_return co_await fs_.placement().run_long(
          Call::space, [this, &who, &from, from_offset, to_offset, length] {
            return data_.copy_from(who, from, from_offset, to_offset, length);
          });
    co_await data_.may_copy(who, from);
    if (from_offset > offset_max || to_offset > offset_max) co_await base::fail(Error::fbig);
    if (held.related()) {
      const Content::Range range{*held.source(), *held.from->stub, from_offset, length};
      PosixStub stub(fs_, node(), held.target()->source(), &data_);
      const auto copy = [&]() -> VfsOp<std::uint64_t> {
        return held.target()->copy_from(stub, who, range, to_offset);
      };
      auto copied = co_await changing(who, nullptr, Changes::something, copy).as_result();
      if (copied || copied.error() != Error::notsupp) co_return co_await std::move(copied);
    }
  }
  co_return co_await copy_in_memory(who, from, from_offset, to_offset, length);
}

// Whatever contents they have meanwhile. An error after the first bytes is the next call's.
VfsOp<std::uint64_t> PosixOpenFile::copy_in_memory(const Credentials& who, OpenFile& from,
                                                   std::uint64_t from_offset, std::uint64_t to_offset,
                                                   std::uint64_t length) {
  const std::uint64_t wanted =
      std::min(length == 0 ? FileData::copy_slice_bytes : length, FileData::copy_slice_bytes);
  io::SlabCursor cursor(fs_.slabs());
  // Reads and writes of the server, not of the client.
  Credentials own = who;
  own.protocol = Protocol::other;
  std::uint64_t copied = 0;
  while (copied < wanted) {
    const auto piece =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(wanted - copied, io::large_slab_bytes));
    const base::Result<ReadResult, Error> got =
        co_await from.read(from_offset + copied, piece, cursor).as_result();
    if (!got && copied == 0) co_await base::fail(got.error());
    if (!got || got->data.empty()) break;
    const base::Result<WriteResult, Error> put =
        co_await write(own, to_offset + copied, got->data, Stability::unstable, nullptr).as_result();
    if (!put && copied == 0) co_await base::fail(put.error());
    if (!put) break;
    copied += put->count;
    if (put->count < got->data.size() || got->eof) break;
  }
  co_return copied;
}

}  // namespace braid::vfs::posix
