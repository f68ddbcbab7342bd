#include "rpc/rpcbind.h"

#include <arpa/inet.h>
#include <netconfig.h>
#include <netinet/in.h>
#include <rpc/rpc.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstring>
#include <memory>
#include <string_view>

#include "base/unique_fd.h"

namespace braid::rpc {
namespace {

constexpr std::uint16_t rpcbind_port = 111;
constexpr std::string_view rpcbind_socket = "/run/rpcbind.sock";
constexpr std::array<const char*, 2> netids{"tcp", "tcp6"};

bool answers(int family, const sockaddr* address, socklen_t length) {
  const base::UniqueFd probe(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return probe && ::connect(probe.get(), address, length) == 0;
}

// libtirpc would try for a long time to reach one that is not there.
bool rpcbind_is_running() {
  sockaddr_un local{};
  local.sun_family = AF_UNIX;
  rpcbind_socket.copy(local.sun_path, sizeof local.sun_path - 1);
  if (answers(AF_UNIX, reinterpret_cast<const sockaddr*>(&local), sizeof local)) return true;
  sockaddr_in loopback{};
  loopback.sin_family = AF_INET;
  loopback.sin_port = htons(rpcbind_port);
  loopback.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return answers(AF_INET, reinterpret_cast<const sockaddr*>(&loopback), sizeof loopback);
}

struct FreeNetconfig {
  void operator()(netconfig* entry) const { ::freenetconfigent(entry); }
};
using Netconfig = std::unique_ptr<netconfig, FreeNetconfig>;

// The unspecified address of the netid's family, with our port.
struct BoundAddress {
  sockaddr_storage storage{};
  netbuf buffer{};

  BoundAddress(const netconfig& entry, std::uint16_t port) {
    unsigned length = 0;
    if (std::string_view(entry.nc_protofmly) == NC_INET6) {
      sockaddr_in6 any{};
      any.sin6_family = AF_INET6;
      any.sin6_port = htons(port);
      std::memcpy(&storage, &any, length = sizeof any);
    } else {
      sockaddr_in any{};
      any.sin_family = AF_INET;
      any.sin_port = htons(port);
      std::memcpy(&storage, &any, length = sizeof any);
    }
    buffer = {.maxlen = sizeof storage, .len = length, .buf = &storage};
  }
  BoundAddress(const BoundAddress&) = delete;
  BoundAddress& operator=(const BoundAddress&) = delete;
};

// Calls f(program, version, netconfig) for each announcement; f says whether rpcbind agreed.
template <class F>
RpcbindOutcome for_each(std::span<const Program> programs, F f) {
  RpcbindOutcome outcome;
  outcome.present = rpcbind_is_running();
  if (!outcome.present) return outcome;
  for (const char* netid : netids) {
    const Netconfig entry(::getnetconfigent(netid));
    if (!entry) continue;
    for (const Program& program : programs)
      for (const Version& version : program.versions)
        ++(f(program.number, version.number, *entry) ? outcome.accepted : outcome.refused);
  }
  return outcome;
}

}  // namespace

RpcbindOutcome register_with_rpcbind(std::span<const Program> programs, std::uint16_t port) {
  return for_each(programs, [&](std::uint32_t program, std::uint32_t version, netconfig& entry) {
    // What a server that was killed left behind would be kept otherwise.
    (void)::rpcb_unset(program, version, &entry);
    BoundAddress address(entry, port);
    return ::rpcb_set(program, version, &entry, &address.buffer) != 0;
  });
}

RpcbindOutcome unregister_with_rpcbind(std::span<const Program> programs) {
  return for_each(programs, [](std::uint32_t program, std::uint32_t version, netconfig& entry) {
    return ::rpcb_unset(program, version, &entry) != 0;
  });
}

}  // namespace braid::rpc
