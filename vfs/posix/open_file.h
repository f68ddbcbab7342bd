// A file that a caller holds open: a description of its own, made with the caller's rights.
#pragma once

#include <list>
#include <memory>
#include <utility>

#include "base/unique_fd.h"
#include "vfs/open_file.h"
#include "vfs/posix/cache.h"
#include "vfs/posix/file.h"

namespace braid::vfs::posix {

// Listed in its PosixFile from make() to its end, and counted among the cache's descriptors. The cache must
// outlive it.
class PosixOpenFile final : public OpenFile, public std::enable_shared_from_this<PosixOpenFile> {
 public:
  // `owner`: the file system, which stays as long as this: an export that is gone may have open files.
  static std::shared_ptr<PosixOpenFile> make(std::shared_ptr<const void> owner, FileCache& cache,
                                             FileRef file, OpenAccess access, base::UniqueFd fd,
                                             DescriptorSlot slot);
  ~PosixOpenFile() override;

  [[nodiscard]] const FileRef& file() const override { return file_; }
  [[nodiscard]] OpenAccess access() const override { return access_; }
  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] PosixFile& node() const { return static_cast<PosixFile&>(*file_); }

 private:
  PosixOpenFile(std::shared_ptr<const void> owner, FileCache& cache, FileRef file, OpenAccess access,
                base::UniqueFd fd, DescriptorSlot slot)
      : owner_(std::move(owner)),
        cache_(cache),
        file_(std::move(file)),
        access_(access),
        slot_(std::move(slot)),
        fd_(std::move(fd)) {}

  const std::shared_ptr<const void> owner_;  // ends last
  FileCache& cache_;
  const FileRef file_;
  const OpenAccess access_;
  const DescriptorSlot slot_;
  const base::UniqueFd fd_;
  std::list<PosixOpenFile*>::iterator listed_;
};

}  // namespace braid::vfs::posix
