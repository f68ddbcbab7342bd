// The files of which somebody has a layout: what data servers ask of them.
#pragma once

#include <functional>
#include <map>
#include <memory>

#include "base/guarded.h"
#include "pnfs/data_handle.h"
#include "pnfs_mds/cluster.h"
#include "pnfs_mds/striped_content.h"
#include "vfs/content.h"
#include "vfs/file_system.h"

namespace braid::pnfs_mds::layouts {

// A striped file that can be found, and its content, which stays. Whoever has the layout has an open of it or
// a delegation, which keep the file: this takes no descriptor of it.
struct LayoutFile {
  std::shared_ptr<vfs::FileSystem> file_system;  // before what belongs to it
  vfs::FileHandle handle;
  vfs::ContentRef content;
  StripedContent* striped = nullptr;  // the same
};

// Thread-safe. Outlives what it gives out.
class LayoutFiles {
 public:
  LayoutFiles() = default;
  LayoutFiles(const LayoutFiles&) = delete;
  LayoutFiles& operator=(const LayoutFiles&) = delete;

  // As long as somebody has the result, facts() knows the file. To be released without any lock.
  using Hold = std::shared_ptr<const LayoutFile>;
  [[nodiscard]] Hold hold(LayoutFile file);

  // What a data server asks for; stale: nobody has a layout of such a file.
  vfs::VfsOp<FileFacts> facts(pnfs::ObjectId object);
  // Those of the stub that a write takes away; stale as before.
  vfs::VfsOp<> drop_privileges(pnfs::ObjectId object);

 private:
  [[nodiscard]] Hold find(pnfs::ObjectId object) const;
  void forget(pnfs::ObjectId object);

  base::Guarded<std::map<pnfs::ObjectId, std::weak_ptr<const LayoutFile>>> files_;
};

}  // namespace braid::pnfs_mds::layouts
