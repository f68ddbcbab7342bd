// What data servers say to the metadata server.
#pragma once

#include "pnfs/control_service.h"
#include "pnfs/hello.h"
#include "pnfs_mds/cluster.h"
#include "xdr/arena.h"

namespace braid::pnfs_mds {

// The cluster outlives it. Thread-safe.
class MetadataControl final : public pnfs::ControlHandler {
 public:
  explicit MetadataControl(Cluster& cluster) : cluster_(cluster) {}

  // CONTROL_OTHER_SERVER: the name belongs to another store.
  pnfs::control_status look_at(const pnfs::control_hello& hello, const rpc::PeerAddress& peer) override;
  // Admits the server to the cluster. CONTROL_OTHER_SERVER as before; CONTROL_BUSY: there can be no more.
  pnfs::ControlOp<> admit(const pnfs::ControlCaller& caller) override;
  pnfs::ControlOp<pnfs::ControlAnswer> handle(const pnfs::ControlRequest& request) override;

 private:
  pnfs::ControlOp<pnfs::to_metadata_res> heartbeat(pnfs::ServerId server, pnfs::HEARTBEATargs args);
  pnfs::ControlOp<pnfs::to_metadata_res> file_facts(pnfs::FILE_FACTSargs args);
  pnfs::ControlOp<pnfs::to_metadata_res> dirty(pnfs::DIRTYargs args, xdr::Arena& arena);

  Cluster& cluster_;
};

// What a hello of the metadata server says.
pnfs::Introduction introduction_of(const Cluster& cluster);

}  // namespace braid::pnfs_mds
