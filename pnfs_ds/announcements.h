// Tells the metadata server of objects that clients write to, before the clients are answered.
#pragma once

#include <vector>

#include "base/guarded.h"
#include "pnfs/data_handle.h"
#include "pnfs_ds/metadata_server.h"
#include "vfs/open_file.h"
#include "vfs/shared_rounds.h"

namespace braid::pnfs_ds {

// One call is under way at a time; who comes meanwhile shares the next one. Thread-safe; on reactors.
class Announcements {
 public:
  // It outlives this.
  explicit Announcements(MetadataServer& metadata) : metadata_(metadata) {}
  Announcements(const Announcements&) = delete;
  Announcements& operator=(const Announcements&) = delete;

  // The metadata server has been told, in a call that began after this one, and does not forget it. stale:
  // there is no such file; else there is no answer.
  vfs::VfsOp<> announce(pnfs::ObjectId object);

 private:
  struct Caller {
    pnfs::ObjectId object;
    base::Result<void, vfs::Error> outcome;
  };
  vfs::VfsOp<> call();

  MetadataServer& metadata_;
  base::Guarded<std::vector<Caller*>> waiting_;
  vfs::SharedRounds rounds_;
};

}  // namespace braid::pnfs_ds
