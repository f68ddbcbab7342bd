#include "tests/sim/cluster/options.h"

#include <fmt/format.h>

#include <charconv>

namespace braid::sim::cluster {
namespace {

constexpr std::uint16_t port = 2049;
constexpr std::uint32_t first_host = 10;

rpc::PeerAddress host(std::uint32_t number) {
  rpc::PeerAddress out;
  out.bytes = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, static_cast<std::uint8_t>(number)};
  out.port = port;
  return out;
}

}  // namespace

std::string data_directory(std::uint32_t number) { return fmt::format("/simulated/ds{}", number); }

rpc::PeerAddress data_address(std::uint32_t number) { return host(first_host + number); }

// Who calls is told by the port.
rpc::PeerAddress metadata_address(std::uint32_t caller) {
  rpc::PeerAddress out = host(1);
  out.port = static_cast<std::uint16_t>(port + caller);
  return out;
}

std::string data_uaddr(std::uint32_t number) {
  return fmt::format("192.0.2.{}.{}.{}", first_host + number, port >> 8U, port & 0xffU);
}

std::uint32_t data_number(const std::string& uaddr) {
  constexpr std::size_t before = std::string_view("192.0.2.").size();
  std::uint32_t out = first_host;
  std::from_chars(uaddr.data() + before, uaddr.data() + uaddr.size(), out);
  return out - first_host;
}

nfs4::EngineOptions engine_options() {
  nfs4::EngineOptions options;
  options.nfs.recall_patience = std::chrono::milliseconds(30);
  options.nfs.delegations = nfs4::Delegations::none;
  options.clients.lease = lease_time;
  options.clients.courtesy = lease_time * 5;
  return options;
}

}  // namespace braid::sim::cluster
