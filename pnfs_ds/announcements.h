// Tells the metadata server of objects that clients write to, before the clients are answered.
#pragma once

#include <vector>

#include "base/guarded.h"
#include "pnfs/data_handle.h"
#include "pnfs_ds/metadata_server.h"
#include "pnfs_ds/object_cache.h"
#include "vfs/open_file.h"
#include "vfs/shared_rounds.h"

namespace braid::pnfs_ds {

// One call is under way at a time; who comes meanwhile shares the next one, unless the first has told of the
// same object by then. Thread-safe; on reactors.
class Announcements {
 public:
  // It outlives this.
  explicit Announcements(MetadataServer& metadata) : metadata_(metadata) {}
  Announcements(const Announcements&) = delete;
  Announcements& operator=(const Announcements&) = delete;

  // The metadata server has been told, in a call that began after this one or since anybody has asked last,
  // and does not forget it: the object is announced(), unless somebody asks again. It outlives the Op.
  // stale: there is no such file; else there is no answer.
  vfs::VfsOp<> announce(Object& object);

 private:
  struct Caller {
    Object& object;
    base::Result<void, vfs::Error> outcome;
  };
  vfs::VfsOp<> call();
  // The outcome for each of them.
  vfs::VfsOp<MetadataServer::EachObject> tell(std::vector<pnfs::ObjectId> objects);

  MetadataServer& metadata_;
  base::Guarded<std::vector<Caller*>> waiting_;
  vfs::SharedRounds rounds_;
};

}  // namespace braid::pnfs_ds
