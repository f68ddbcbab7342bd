#include "server/control_path.h"

#include <cerrno>

#include "rdma/connector.h"

namespace braid::server {
namespace {

// RDMA begins after the roles have.
io::Op<> connect_over_rdma(ServerThread& thread, rpc::PeerAddress to, rpc::Client& client) {
  rdma::RdmaConnector* const connector = thread.rdma_connector();
  if (connector == nullptr) co_await base::fail(ENODEV);
  co_await connector->connect(to, client);
}

}  // namespace

pnfs::ControlPath control_path(ServerThread& thread, rpc::Transport transport) {
  if (transport == rpc::Transport::tcp) return pnfs::over_tcp(thread.tcp());
  return {.reactor = thread.reactor(), .connect = [&thread](rpc::PeerAddress to, rpc::Client& client) {
            return connect_over_rdma(thread, to, client);
          }};
}

}  // namespace braid::server
