// What a server tells about itself beyond the counters that its parts register: gauges, read when somebody
// looks.
#pragma once

#include "base/clock.h"

namespace braid::server {
class Server;
}

namespace braid::server::metrics {

// Bytes of memory that this process holds; 0 if the system does not tell.
std::uint64_t resident_bytes();
// Descriptors that this process has open; 0 if the system does not tell.
std::uint64_t open_descriptors();

// Adds to the registry of the server, once it has started. The server must outlive the registry's use.
void register_metrics(Server& server, base::WallTime started);

}  // namespace braid::server::metrics
