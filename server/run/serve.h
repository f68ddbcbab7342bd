// braid serve
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "rpc/call.h"
#include "server/config/config.h"

namespace braid::server::run {

struct ServeCommand {
  config::Config config;    // complete, unless there is a file
  std::string config_file;  // read it, then apply `overrides`; read again on SIGHUP
  bool check_only = false;  // say whether the file is right, and end
  // Options about the server as a whole win over the file; those about an export cannot be given beside it.
  struct Overrides {
    std::vector<std::string> listen;
    std::optional<std::uint16_t> port;
    std::optional<std::uint16_t> rdma_port;  // RDMA is wanted, here
    std::optional<unsigned> threads;
    std::string state_dir, admin_socket;
    std::optional<rpc::PeerAddress> metrics;
    std::optional<base::Level> log_level;
  } overrides;
};
// A path as everything behind the command line wants it.
void make_absolute(std::string& file);
void apply(const ServeCommand::Overrides& overrides, config::Config& config);

// Serves until SIGTERM or SIGINT; returns the exit code.
int serve(const ServeCommand& command);

}  // namespace braid::server::run
