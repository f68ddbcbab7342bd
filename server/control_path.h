// By what a role of this process reaches another server of its pNFS cluster.
#pragma once

#include "pnfs/control_path.h"
#include "rpc/transport.h"
#include "server/server_thread.h"

namespace braid::server {

// From the thread, which outlives it. Where the transport is RDMA and there is none, nothing is reached.
pnfs::ControlPath control_path(ServerThread& thread, rpc::Transport transport);

}  // namespace braid::server
