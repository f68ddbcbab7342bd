// The MOUNT protocol, as far as a client needs it to get its first handle.
#pragma once

#include <string_view>

#include "bench/load/connection.h"
#include "bench/load/handle.h"

namespace braid::load {

// `connection` goes to the server's MOUNT port; `path` must stay until the Op ends.
LoadOp<Handle> mount(Connection& connection, std::string_view path);
LoadOp<Done> unmount(Connection& connection, std::string_view path);

}  // namespace braid::load
