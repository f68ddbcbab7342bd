// The data servers that one process has beside their metadata server.
#pragma once

#include <expected>
#include <string>

#include "server/config/config.h"

namespace braid::server::run {

// Gives each data server of this server's own cluster (DataServerConfig::mds is empty) what nobody has said:
// the directory data-servers/NAME of the state directory, which is made, and the cluster's secret. Paths of
// the configuration are absolute; blocks. The error is a sentence for the user.
std::expected<void, std::string> place_data_servers(config::Config& config, const std::string& state_dir);

}  // namespace braid::server::run
