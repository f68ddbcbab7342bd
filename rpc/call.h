// One ONC RPC call (RFC 5531) as a procedure sees it: no transport, no stream.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "base/clock.h"
#include "io/payload.h"
#include "io/peer_id.h"
#include "io/pipe.h"
#include "xdr/arena.h"
#include "xdr/decoder.h"
#include "xdr/encoder.h"

namespace braid::rpc {

class Session;
class UsageLedger;

// Where a call came from. IPv4 addresses are kept in IPv4-mapped IPv6 form.
struct PeerAddress {
  std::array<std::uint8_t, 16> bytes{};
  std::uint16_t port = 0;
  [[nodiscard]] std::string text() const;  // "192.0.2.1:700", "[2001:db8::1]:700"
  [[nodiscard]] std::string host() const;  // "192.0.2.1", "2001:db8::1"
  friend bool operator==(const PeerAddress&, const PeerAddress&) = default;
};

struct AuthNone {};

// RFC 5531 appendix A, limits applied; machinename is a view into the call.
struct AuthSys {
  static constexpr std::size_t groups_max = 16;
  std::uint32_t stamp = 0;
  std::string_view machinename;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint32_t group_count = 0;
  std::array<std::uint32_t, groups_max> group_list{};
  [[nodiscard]] std::span<const std::uint32_t> groups() const { return {group_list.data(), group_count}; }
};

using Auth = std::variant<AuthNone, AuthSys>;

// Owns the bytes of the call and everything decoded from it; lives until the reply has been encoded.
struct Call {
  Call(io::Payload bytes, const PeerAddress& from, io::SlabCursor& memory)
      : message(std::move(bytes)), peer(from), cursor(memory), args(message, arena) {}
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  io::Payload message;
  PeerAddress peer;
  io::PeerId peer_id{};       // what its work is counted by; set by the session
  base::TimePoint arrived{};  // in the server
  io::SlabCursor& cursor;     // of the thread that runs the call: for payload of the reply
  io::PipePool* pipes =
      nullptr;  // for payload of the reply that stays in pipes; null: the transport cannot send it
  UsageLedger* usage = nullptr;  // of the connection. Null only in tests
  Session* session = nullptr;    // the connection that it came by; outlives it. Null only in tests
  xdr::Arena arena;
  xdr::Decoder args;  // stands at the procedure's arguments once the header is decoded
  std::uint32_t xid = 0;
  std::uint32_t program = 0;
  std::uint32_t version = 0;
  std::uint32_t procedure = 0;
  Auth auth;
};

}  // namespace braid::rpc
