#include "vfs/posix/file_io.h"

#include "vfs/posix/contents.h"
#include "vfs/posix/file_system.h"

namespace braid::vfs::posix {

VfsOp<WriteResult> FileIo::write(const Credentials& who, std::uint64_t offset, const io::Payload& data,
                                 Stability stability, Wcc* wcc) {
  FileContent* const content = data_.node().content();
  if (content == nullptr) [[likely]]
    return write_own(who, offset, data, stability, wcc);
  if (!content->offered.load(std::memory_order_relaxed))
    return write_content(who, offset, data, stability, wcc);
  auto use = content->slot.enter();
  if (!use) return write_content(who, offset, data, stability, wcc);
  if (use->content() != nullptr) {
    if (use->content()->has_plain_bytes() && stability == Stability::unstable)
      return write_as_plain(std::move(*use), who, offset, data, wcc);
    use.reset();  // who waits for this file's content holds no use of it
    return write_content(who, offset, data, stability, wcc);
  }
  fs_.contents().note_changing(data_.node());
  return in_use(std::move(*use), write_own(who, offset, data, stability, wcc));
}

// What is not a write to a plain file is begun anew, as one to the content.
VfsOp<WriteResult> FileIo::write_as_plain(ContentSlot::Use use, const Credentials& who, std::uint64_t offset,
                                          const io::Payload& data, Wcc* wcc) {
  const auto work = [&]() -> Outcome<std::optional<WriteResult>> {
    Outcome<WriteResult> written = base::fail(Error::server_fault);
    const auto look = [this]() -> Outcome<Content::Inode> {
      Stat inode{};
      if (auto seen = fs_.tree().observe(data_.node(), &inode); !seen) return base::fail(seen.error());
      return Content::Inode{
          .size = inode.stx_size, .space = inode.stx_blocks * 512, .block_bytes = inode.stx_blksize};
    };
    const auto write = [&] { written = data_.write(who, offset, data, Stability::unstable, wcc); };
    if (!base::end_of<std::uint64_t>(offset, data.size(), offset_max) ||
        !use.content()->as_plain(offset, data.size(),
                                 data.piped() ? Content::Steps::several : Content::Steps::one, look, write))
      return std::nullopt;
    if (!written) return base::fail(written.error());
    return *written;
  };
  fs_.contents().note_changing(data_.node());
  if (const auto written = co_await fs_.placement().run(Call::write, work)) co_return *written;
  {
    const ContentSlot::Use ended = std::move(use);
  }
  co_return co_await write_content(who, offset, data, Stability::unstable, wcc);
}

VfsOp<WriteResult> FileIo::write_own(const Credentials& who, std::uint64_t offset, const io::Payload& data,
                                     Stability stability, Wcc* wcc) {
  const auto work = [this, &who, offset, &data, stability, wcc] {
    return data_.write(who, offset, data, stability, wcc);
  };
  return stability == Stability::unstable ? fs_.placement().run(Call::write, work)
                                          : fs_.placement().run_blocking(Call::sync, work);
}

// The range is not used: fsync(2) alone makes the metadata durable that the data needs.
VfsOp<Verifier> FileIo::commit(const Credentials& who, std::uint64_t offset, std::uint32_t count, Wcc* wcc) {
  if (data_.node().content() != nullptr) [[unlikely]]
    return commit_content(who, offset, count, wcc);
  return commit_own(who, wcc);
}

VfsOp<Verifier> FileIo::commit_own(const Credentials& who, Wcc* wcc) {
  return fs_.placement().run_blocking(Call::sync, [this, &who, wcc] { return data_.commit(who, wcc); });
}

// A content that is not known, or is being replaced, is one whose verifier has changed.
Verifier FileIo::write_verifier() const {
  if (FileContent* const content = data_.node().content(); content != nullptr) [[unlikely]] {
    const auto use = content->slot.enter();
    if (use && use->content() != nullptr) return use->content()->write_verifier(fs_.tree().write_verifier());
  }
  return fs_.tree().write_verifier();
}

VfsOp<> FileIo::set(const Credentials& who, const SetAttributes& set, Wcc* wcc) {
  if (set.size && data_.node().content() != nullptr) [[unlikely]]
    return set_with_content(who, set, std::nullopt, wcc);
  return set_own(who, set, std::nullopt, wcc);
}

VfsOp<> FileIo::set_own(const Credentials& who, const SetAttributes& set, std::optional<Time> guard,
                        Wcc* wcc) {
  const bool syncs = data_.lent() ? fs_.tree().syncs() : fs_.tree().opens_sync();
  return fs_.change(
      syncs, [this, &who, &set, guard, wcc] { return fs_.tree().setattr(who, data_, set, guard, wcc); });
}

}  // namespace braid::vfs::posix
