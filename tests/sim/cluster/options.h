// What all parts of a simulated cluster go by.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/clock.h"
#include "nfs4/engine.h"
#include "rpc/call.h"
#include "tests/sim/cluster/plant.h"

namespace braid::sim::cluster {

constexpr base::Duration lease_time = std::chrono::seconds(20);
// For how long a data server may serve after it sent a heartbeat that was answered.
constexpr base::Duration contact_time = lease_time / 2;
constexpr vfs::ExportId export_id{7};

// The secret of the cluster, which every server has.
inline const std::string secret_file = "/simulated/secret";
inline const std::string metadata_directory = "/simulated/mds";
std::string data_directory(std::uint32_t number);

// Where data server `number`, counted from 0, is reached; and where it reaches the metadata server.
rpc::PeerAddress data_address(std::uint32_t number);
rpc::PeerAddress metadata_address(std::uint32_t caller);
// As a universal address (RFC 5665), and back.
std::string data_uaddr(std::uint32_t number);
std::uint32_t data_number(const std::string& uaddr);
// Numbers of servers on each other's networks.
constexpr std::uint32_t metadata_caller = 100;
constexpr std::uint32_t first_data_caller = 100;

nfs4::EngineOptions engine_options();

}  // namespace braid::sim::cluster
