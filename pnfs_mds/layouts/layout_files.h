// The files of which somebody has a layout: what data servers ask of them.
#pragma once

#include <memory>
#include <utility>

#include "pnfs/data_handle.h"
#include "pnfs_mds/cluster.h"
#include "pnfs_mds/striped_content.h"
#include "vfs/file_system.h"

namespace braid::pnfs_mds::layouts {

// As long as there is one of a striped file, LayoutFiles knows it. Whoever has the layout has an open of the
// file or a delegation, which keep it: this takes no descriptor of it. To be released without any lock.
class LayoutHold {
 public:
  LayoutHold(std::shared_ptr<StripedContent> striped, const std::shared_ptr<vfs::FileSystem>& in)
      : striped_(std::move(striped)) {
    striped_->begin_layout(in);
  }
  LayoutHold(const LayoutHold& other) : LayoutHold(other.striped_, other.striped_->file_system()) {}
  LayoutHold(LayoutHold&& other) noexcept = default;
  LayoutHold& operator=(const LayoutHold&) = delete;
  LayoutHold& operator=(LayoutHold&&) = delete;
  ~LayoutHold() {
    if (striped_ == nullptr) return;
    // The file system goes after what belongs to it.
    const std::shared_ptr<vfs::FileSystem> last = striped_->end_layout();
    striped_.reset();
  }
  StripedContent* operator->() const { return striped_.get(); }

 private:
  std::shared_ptr<StripedContent> striped_;  // null: it was moved away
};

// Thread-safe.
class LayoutFiles {
 public:
  // It outlives this.
  explicit LayoutFiles(StripedSource& source) : source_(source) {}
  LayoutFiles(const LayoutFiles&) = delete;
  LayoutFiles& operator=(const LayoutFiles&) = delete;

  // What a data server asks for; stale: nobody has a layout of such a file.
  vfs::VfsOp<FileFacts> facts(pnfs::ObjectId object);
  // Those of the stub that a write takes away; stale as before.
  vfs::VfsOp<> drop_privileges(pnfs::ObjectId object);

 private:
  struct Found {
    std::shared_ptr<vfs::FileSystem> file_system;  // before what belongs to it; null: there is none
    std::shared_ptr<StripedContent> striped;
  };
  [[nodiscard]] Found find(pnfs::ObjectId object) const;

  StripedSource& source_;
};

}  // namespace braid::pnfs_mds::layouts
