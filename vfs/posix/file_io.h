// Reading and writing a file of this machine: by an open of its own, or lent for one call.
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>

#include "io/slab.h"
#include "vfs/content_slot.h"
#include "vfs/open_file.h"
#include "vfs/posix/file_data.h"
#include "vfs/posix/placement.h"

namespace braid::vfs::posix {

class PosixFileSystem;

// What both are: where each call runs, and the way of the data of a READ (reading.cc). All I/O of a file
// comes through these functions, so here its bytes may be a content's (vfs/content.h).
class FileIo : public OpenFile {
 public:
  [[nodiscard]] OpenAccess access() const final { return data_.access(); }
  VfsOp<ReadResult> read(std::uint64_t offset, std::uint32_t count, ReadMemory memory) final;
  VfsOp<WriteResult> write(const Credentials& who, std::uint64_t offset, const io::Payload& data,
                           Stability stability, Wcc* wcc) final;
  VfsOp<Verifier> commit(const Credentials& who, std::uint64_t offset, std::uint32_t count, Wcc* wcc) final;
  [[nodiscard]] Verifier write_verifier() const final;
  VfsOp<> set(const Credentials& who, const SetAttributes& set, Wcc* wcc) final;

  // The same with a size, of a file that may have a content; `guard` as for FileSystem::setattr().
  VfsOp<> set_with_content(const Credentials& who, const SetAttributes& set, std::optional<Time> guard,
                           Wcc* wcc);

 protected:
  FileIo(PosixFileSystem& fs, const FileData& data) : fs_(fs), data_(data) {}

  // Of a file that may have a content (content_io.cc): each holds it for the whole call, or the fact that
  // there is none.
  VfsOp<SeekResult> seek_content(std::uint64_t offset, SeekTo what, std::uint64_t until);
  enum class Space : std::uint8_t { allocated, hole };
  VfsOp<> space_content(const Credentials& who, std::uint64_t offset, std::uint64_t length, Space space);
  VfsOp<> advise_content(std::uint64_t offset, std::uint64_t length, Advice advice);
  // Of an open: keeps its descriptor open, as FileData::use() does.
  VfsOp<FileRef> pinned();
  // `work` is by `who`; what it changes is bytes.
  template <class F>
  auto changing(const Credentials& who, Wcc* wcc, Changes what, F work) -> std::invoke_result_t<F&>;

  PosixFileSystem& fs_;  // not null
  const FileData data_;

 private:
  class ReadBuffer;
  // Of a content whose bytes are in the page cache, without a thread switch and without a coroutine. Nothing:
  // read_content() has to.
  std::optional<ReadResult> read_located(Content& content, std::uint64_t offset, std::uint32_t count,
                                         const ReadMemory& memory);
  VfsOp<ReadResult> read_content(std::uint64_t offset, std::uint32_t count, ReadMemory memory);
  VfsOp<WriteResult> write_content(const Credentials& who, std::uint64_t offset, const io::Payload& data,
                                   Stability stability, Wcc* wcc);
  VfsOp<Verifier> commit_content(const Credentials& who, std::uint64_t offset, std::uint32_t count, Wcc* wcc);
  VfsOp<WriteResult> write_as_plain(ContentSlot::Use use, const Credentials& who, std::uint64_t offset,
                                    const io::Payload& data, Wcc* wcc);
  // The call with its Use: one that has ended at once costs no coroutine.
  template <class T>
  static VfsOp<T> in_use(ContentSlot::Use use, VfsOp<T> call) {
    if (call.done()) return call;
    return finish(std::move(use), std::move(call));
  }
  template <class T>
  static VfsOp<T> finish(ContentSlot::Use /*use*/, VfsOp<T> call) {
    co_return co_await std::move(call);
  }
  // The file's own bytes.
  VfsOp<ReadResult> read_own(std::uint64_t offset, std::uint32_t count, ReadMemory memory);
  VfsOp<WriteResult> write_own(const Credentials& who, std::uint64_t offset, const io::Payload& data,
                               Stability stability, Wcc* wcc);
  VfsOp<Verifier> commit_own(const Credentials& who, Wcc* wcc);
  VfsOp<> set_own(const Credentials& who, const SetAttributes& set, std::optional<Time> guard, Wcc* wcc);
  // Looks at the file, and then reads.
  VfsOp<ReadResult> read_in_pool(std::uint64_t offset, std::uint32_t count, ReadMemory memory);
  // What is not in memory of what was planned.
  VfsOp<ReadResult> read_rest(ReadPlan plan, ReadBuffer buffer, std::uint64_t offset, ReadMemory memory);
};

// A file of the cache, for one call of somebody who has not opened it.
class LentFile final : public FileIo {
 public:
  LentFile(PosixFileSystem& fs, Tree& tree, const Credentials& who, const FileRef& file)
      : FileIo(fs, FileData(tree, posix::node(file), who)), file_(file) {}
  [[nodiscard]] FileRef file() const override { return file_; }

 private:
  const FileRef& file_;
};

}  // namespace braid::vfs::posix
