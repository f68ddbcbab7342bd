// The file of a name, as its content sees it.
#pragma once

#include <utility>

#include "vfs/content.h"
#include "vfs/memory/file.h"

namespace braid::vfs::memory {

// Its record is that of `source`. The file system outlives it.
class MemoryStub final : public Stub {
 public:
  MemoryStub(MemoryFileSystem& home, FileRef file, const ContentSource& source)
      : storage_(home.storage()), file_(std::move(file)), source_(source) {}
  [[nodiscard]] const FileHandle& handle() const override { return file_->handle(); }
  [[nodiscard]] std::uint64_t fileid() const override { return id_of(file_); }
  VfsOp<int> descriptor(OpenAccess access) override;
  VfsOp<Attributes> attributes() override;
  VfsOp<> put_record(base::BytesView record) override;
  VfsOp<> erase_record() override;
  VfsOp<> put_size_and_times(const SetAttributes& set) override;
  VfsOp<> sync() override;
  VfsOp<> drop_privileges() override;

 private:
  Storage& storage_;
  const FileRef file_;
  const ContentSource& source_;
};

}  // namespace braid::vfs::memory
