// A file that a caller holds open, with the caller's rights of that moment.
#pragma once

#include <memory>
#include <utility>

#include "base/unique_fd.h"
#include "vfs/open_file.h"
#include "vfs/posix/descriptor_slot.h"
#include "vfs/posix/file.h"
#include "vfs/posix/file_io.h"

namespace braid::vfs::posix {

// Listed in its PosixFile from make() to its end. Opens of one access share one description, which is there
// as long as the file is not parked (vfs/posix/file.h).
class PosixOpenFile final : public FileIo, public std::enable_shared_from_this<PosixOpenFile> {
 public:
  // For make() alone.
  class Key {
    friend class PosixOpenFile;
    Key() = default;
  };
  PosixOpenFile(Key key, std::shared_ptr<PosixFileSystem> owner, PosixFile& file, OpenAccess access);
  // `owner`: the file system, which stays as long as this: an export that is gone may have open files. `fd`
  // is a description that was opened for this access as the caller; `slot` is its place in the count.
  static std::shared_ptr<PosixOpenFile> make(std::shared_ptr<PosixFileSystem> owner, const FileRef& file,
                                             OpenAccess access, base::UniqueFd fd, DescriptorSlot slot);
  ~PosixOpenFile() override;

  // It may be parked; whoever looks at its attributes opens it.
  [[nodiscard]] FileRef file() const override { return FileRef(&node()); }
  [[nodiscard]] std::shared_ptr<FileSystem> file_system() const override;
  [[nodiscard]] int fd() const { return data_.fd(); }
  // Of the same file, under the lock of its Holdings.
  [[nodiscard]] PosixOpenFile* next() const { return next_; }
  [[nodiscard]] PosixFile& node() const { return data_.node(); }
  [[nodiscard]] const FileData& data() const { return data_; }

  using OpenFile::seek;
  VfsOp<SeekResult> seek(std::uint64_t offset, SeekTo what, std::uint64_t until) override;
  VfsOp<> allocate(const Credentials& who, std::uint64_t offset, std::uint64_t length) override;
  VfsOp<> deallocate(const Credentials& who, std::uint64_t offset, std::uint64_t length) override;
  VfsOp<> clone_from(const Credentials& who, OpenFile& from, std::uint64_t from_offset,
                     std::uint64_t to_offset, std::uint64_t length) override;
  VfsOp<std::uint64_t> copy_from(const Credentials& who, OpenFile& from, std::uint64_t from_offset,
                                 std::uint64_t to_offset, std::uint64_t length) override;
  VfsOp<> advise(std::uint64_t offset, std::uint64_t length, Advice advice) override;
  [[nodiscard]] bool has_descriptor() const override { return true; }
  base::Result<Descriptor, Error> descriptor() override;
  [[nodiscard]] bool may_have_content() const override { return node().content() != nullptr; }
  VfsOp<ContentHold> hold_content() override;

 private:
  friend class OpenList;

  // The same, where either file may have a content (content_copy.cc).
  VfsOp<> clone_content(const Credentials& who, OpenFile& from, std::uint64_t from_offset,
                        std::uint64_t to_offset, std::uint64_t length);
  VfsOp<std::uint64_t> copy_content(const Credentials& who, OpenFile& from, std::uint64_t from_offset,
                                    std::uint64_t to_offset, std::uint64_t length);
  VfsOp<std::uint64_t> copy_in_memory(const Credentials& who, OpenFile& from, std::uint64_t from_offset,
                                      std::uint64_t to_offset, std::uint64_t length);
  struct BothHeld;
  // Waits for neither while it holds the other.
  VfsOp<> hold_both(OpenFile& from, BothHeld& held);
  // The same when this file may have got a content of the source that the other one has.
  VfsOp<> hold_related(const Credentials& who, OpenFile& from, PlacementHint hint, BothHeld& held);

  const std::shared_ptr<PosixFileSystem> owner_;  // ends last
  FileRef kept_;                                  // null, usually: the cache keeps the file
  PosixOpenFile* previous_ = nullptr;             // in the OpenList
  PosixOpenFile* next_ = nullptr;
};

}  // namespace braid::vfs::posix
