// Names of clients and sessions, and who a caller is (RFC 8881 2.4, 2.10.3).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "nfs4/nfs4.x.h"
#include "rpc/call.h"

namespace braid::nfs4::state {

using ClientId = clientid4;

// sessionid4: the client's id, and a keyed hash that nobody else can compute.
using SessionId = std::array<std::byte, 16>;
struct SessionIdHash {
  std::size_t operator()(const SessionId& id) const {
    std::size_t unpredictable;
    std::memcpy(&unpredictable, id.data() + 8, sizeof unpredictable);
    return unpredictable;
  }
};

// verifier4
using Verifier = std::array<std::byte, 8>;

// Who sent a request, as far as ownership of client records goes (RFC 8881 2.4.3). Groups are left out: they
// change while a user stays the same.
struct Principal {
  static constexpr std::uint32_t none = 0;  // AUTH_NONE
  static constexpr std::uint32_t sys = 1;   // AUTH_SYS
  static constexpr std::uint32_t gss = 6;   // RPCSEC_GSS with integrity or privacy
  std::uint32_t flavor = none;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::string name;  // of RPCSEC_GSS
  friend bool operator==(const Principal&, const Principal&) = default;
};
Principal principal_of(const rpc::Auth& auth);

// rpc::PeerAddress without the port.
using PeerBytes = decltype(rpc::PeerAddress::bytes);

// A connection, as rpc::Session numbers them; 0: none.
using ConnectionId = std::uint64_t;

}  // namespace braid::nfs4::state
