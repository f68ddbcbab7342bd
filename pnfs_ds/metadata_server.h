// What a data server asks of its metadata server, and tells it.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "pnfs/data_handle.h"
#include "pnfs/object.h"
#include "vfs/open_file.h"

namespace braid::pnfs_ds {

using pnfs::FileFacts;

// Thread-safe; on any reactor. An error of a whole call: there is no answer.
class MetadataServer {
 public:
  virtual ~MetadataServer() = default;
  // stale: there is no such file, or nobody has a layout of it.
  virtual vfs::VfsOp<FileFacts> facts_of(pnfs::ObjectId object) = 0;
  // At most OBJECTS_MAX of control.x: what has become of each. stale: there is no such file.
  using EachObject = std::vector<base::Result<void, vfs::Error>>;
  virtual vfs::VfsOp<EachObject> tell_dirty(std::vector<pnfs::ObjectId> objects) = 0;
};

}  // namespace braid::pnfs_ds
