// Clients that a data server is to shut out, and that it has not said so of.
#pragma once

#include <cstddef>
#include <map>

#include "base/guarded.h"
#include "pnfs/data_handle.h"
#include "pnfs/keys.h"
#include "pnfs/layout_record.h"
#include "pnfs_mds/data_servers.h"
#include "pnfs_mds/object_calls.h"
#include "vfs/open_file.h"

namespace braid::pnfs_mds {

// In memory: what was granted before a restart of this server ends with the grace period that follows it
// (Cluster::lowest_grant). Thread-safe.
class PendingFences {
 public:
  // Both outlive it.
  PendingFences(ObjectCalls& calls, const DataServers& servers) : calls_(calls), servers_(servers) {}

  // On return the server refuses what the fence shuts out: it has said so, or it has barred itself and is
  // told before it has contact again. delay, io: neither yet, so it may serve the client; call this again.
  vfs::VfsOp<> put(pnfs::ServerNumber server, ClientFence fence);
  // Before a heartbeat of the server is answered, which gives it contact: tells it what is pending. After an
  // error the heartbeat must not be answered.
  vfs::VfsOp<> deliver(pnfs::ServerNumber server);
  // All heartbeats that are answered from now on tell of this lowest grant, or of a higher one.
  void forget_below(pnfs::GrantNumber lowest);
  [[nodiscard]] std::size_t count() const;

 private:
  // Of one server: the newest grant of each client that is refused.
  using Clients = std::map<pnfs::ClientTag, pnfs::GrantNumber>;
  using All = std::map<pnfs::ServerNumber, Clients>;

  void add(pnfs::ServerNumber server, const ClientFence& fence);
  void confirmed(pnfs::ServerNumber server, const ClientFence& fence);

  ObjectCalls& calls_;
  const DataServers& servers_;
  base::Guarded<All> all_;
};

}  // namespace braid::pnfs_mds
