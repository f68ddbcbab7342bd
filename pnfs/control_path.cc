#include "pnfs/control_path.h"

#include <utility>

#include "rpc/tcp_connect.h"

namespace braid::pnfs {
namespace {

constexpr int syn_retries = 1;  // about 3 seconds

io::Op<> connect_over_tcp(rpc::TcpWorker& tcp, rpc::PeerAddress to, rpc::Client& client) {
  base::UniqueFd socket = co_await rpc::tcp_connect(tcp.reactor(), to, {.syn_retries = syn_retries});
  client.attach(tcp.open(std::move(socket), client));
}

}  // namespace

ControlPath over_tcp(rpc::TcpWorker& tcp) {
  return {.reactor = tcp.reactor(), .connect = [&tcp](rpc::PeerAddress to, rpc::Client& client) {
            return connect_over_tcp(tcp, to, client);
          }};
}

}  // namespace braid::pnfs
