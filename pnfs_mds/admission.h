// Heartbeats of data servers: which of them are answered, and when.
#pragma once

#include <map>
#include <memory>

#include "base/guarded.h"
#include "pnfs/keys.h"
#include "pnfs_mds/data_servers.h"
#include "pnfs_mds/pending_fences.h"
#include "pnfs_mds/truncations.h"
#include "pnfs_mds/turns.h"
#include "vfs/open_file.h"

namespace braid::pnfs_mds {

// A server that has had no contact is told first what it has missed: whoever was answered without it relies
// on that it serves nobody until then. Thread-safe; on reactors.
class Admission {
 public:
  // All outlive it.
  Admission(DataServers& servers, Truncations& truncations, PendingFences& fences)
      : servers_(servers), truncations_(truncations), fences_(fences) {}
  Admission(const Admission&) = delete;
  Admission& operator=(const Admission&) = delete;

  // After it the heartbeat is to be answered. delay: not now; the server tries again. noent: it was never
  // admitted.
  vfs::VfsOp<> heard(pnfs::ServerId id, Heartbeat heartbeat);

 private:
  // What the server is told before it has contact.
  vfs::VfsOp<> deliver(pnfs::ServerNumber server, Truncations::What what);

  DataServers& servers_;
  Truncations& truncations_;
  PendingFences& fences_;
  // One heartbeat of a server at a time: a second one is sent when the answer to the first is late.
  base::Guarded<std::map<pnfs::ServerId, std::unique_ptr<Turns>>> turns_;
};

}  // namespace braid::pnfs_mds
