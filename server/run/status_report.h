// What the admin socket answers to "status": a JSON object of the server's state.
#pragma once

#include <string>

#include "base/clock.h"

namespace braid::server {
class Server;
}

namespace braid::server::run {

// One JSON object without line feeds. docs/operations.md describes its members.
std::string status_json(const Server& server, base::TimePoint started);

}  // namespace braid::server::run
