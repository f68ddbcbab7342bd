// Where a 4.0 client may have the server connect to: anybody can name any address (RFC 7530 section 16.33).
#pragma once

#include <optional>

#include "nfs4/state/clients/client.h"
#include "rpc/call.h"
#include "rpc/socket_address.h"

namespace braid::nfs4::callback {

struct CallbackTarget {
  rpc::PeerAddress address;
  bool own = false;  // it is where the client itself is
};

// Nothing for what is no address of one host: multicast, broadcast, "this network" (RFC 6890); for what is
// `of_this_host`, unless the client is on it; and elsewhere than at the client's own address for ports below
// 1024, where services of others listen.
std::optional<CallbackTarget> callback_target(
    const state::CallbackAddress& to, bool (*of_this_host)(const rpc::PeerAddress&) = rpc::is_of_this_host);

}  // namespace braid::nfs4::callback
