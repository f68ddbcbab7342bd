// Universal addresses (RFC 5665): "192.0.2.1.8.1" with netid "tcp", "2001:db8::1.8.1" with "tcp6".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "rpc/call.h"

namespace braid::nfs4::callback {

// Nothing for other netids, for what is no address, and for port 0.
std::optional<rpc::PeerAddress> parse_universal_address(std::string_view netid, std::string_view address);

}  // namespace braid::nfs4::callback
