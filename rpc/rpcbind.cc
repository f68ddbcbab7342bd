#include "rpc/rpcbind.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <rpc/rpc.h>
#include <rpc/rpcb_prot.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/unique_fd.h"

namespace braid::rpc {
namespace {

constexpr std::uint16_t rpcbind_port = 111;
constexpr std::string_view rpcbind_socket = "/run/rpcbind.sock";
constexpr timeval patience{.tv_sec = 5, .tv_usec = 0};

// RFC 5665 section 5.2: a netid, and the unspecified address of its family.
struct Netid {
  std::string_view name;
  std::string_view any;
  bool rdma;
};
constexpr Netid netids[] = {
    {"tcp", "0.0.0.0", false}, {"tcp6", "::", false}, {"rdma", "0.0.0.0", true}, {"rdma6", "::", true}};

base::UniqueFd connected(int family, const sockaddr* address, socklen_t length) {
  base::UniqueFd socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  // Over TCP rpcbind listens only to those that may use such a port.
  if (socket && family == AF_INET) (void)::bindresvport(socket.get(), nullptr);
  if (socket && ::connect(socket.get(), address, length) != 0) socket.reset();
  return socket;
}

base::UniqueFd connect_to_rpcbind() {
  sockaddr_un local{};
  local.sun_family = AF_UNIX;
  rpcbind_socket.copy(local.sun_path, sizeof local.sun_path - 1);
  if (auto socket = connected(AF_UNIX, reinterpret_cast<const sockaddr*>(&local), sizeof local))
    return socket;
  sockaddr_in loopback{};
  loopback.sin_family = AF_INET;
  loopback.sin_port = htons(rpcbind_port);
  loopback.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return connected(AF_INET, reinterpret_cast<const sockaddr*>(&loopback), sizeof loopback);
}

// The rpcbind of this host. Its procedures are called without libtirpc's rpcb_set(3), which refuses a netid
// that is not in /etc/netconfig, as those of RDMA are not; rpcbind itself takes any.
class Rpcbind {
 public:
  Rpcbind() : socket_(connect_to_rpcbind()) {
    if (!socket_) return;
    // Connected already, so the address is not used.
    sockaddr_storage nowhere{};
    netbuf peer{.maxlen = sizeof nowhere, .len = sizeof nowhere, .buf = &nowhere};
    client_.reset(::clnt_vc_create(socket_.get(), &peer, RPCBPROG, RPCBVERS, 0, 0));
  }

  [[nodiscard]] bool present() const { return client_ != nullptr; }
  bool set(std::uint32_t program, std::uint32_t version, const Netid& netid, std::uint16_t port) {
    return call(RPCBPROC_SET, program, version, netid,
                fmt::format("{}.{}.{}", netid.any, port >> 8, port & 0xff));
  }
  // True as well if there was no such announcement.
  bool unset(std::uint32_t program, std::uint32_t version, const Netid& netid) {
    return call(RPCBPROC_UNSET, program, version, netid, "");
  }

 private:
  struct Destroy {
    void operator()(CLIENT* client) const { clnt_destroy(client); }
  };

  // `address`: RFC 5665 section 5.2.3.3.
  bool call(rpcproc_t procedure, std::uint32_t program, std::uint32_t version, const Netid& netid,
            std::string address) {
    std::string name(netid.name);
    std::string owner;  // rpcbind asks the socket instead
    ::rpcb mapping{.r_prog = program,
                   .r_vers = version,
                   .r_netid = name.data(),
                   .r_addr = address.data(),
                   .r_owner = owner.data()};
    bool_t agreed = FALSE;
    const auto status = clnt_call(client_.get(), procedure, reinterpret_cast<xdrproc_t>(::xdr_rpcb), &mapping,
                                  reinterpret_cast<xdrproc_t>(::xdr_bool), &agreed, patience);
    return status == RPC_SUCCESS && agreed != FALSE;
  }

  base::UniqueFd socket_;
  std::unique_ptr<CLIENT, Destroy> client_;
};

// Calls f(rpcbind, program, version, netid, outcome) for each announcement that can be made.
template <class F>
RpcbindOutcome for_each(std::span<const Program> programs, F f) {
  RpcbindOutcome outcome;
  Rpcbind rpcbind;
  outcome.present = rpcbind.present();
  if (!outcome.present) return outcome;
  for (const Netid& netid : netids)
    for (const Program& program : programs)
      for (const Version& version : program.versions)
        f(rpcbind, program.number, version.number, netid, outcome);
  return outcome;
}

}  // namespace

RpcbindOutcome register_with_rpcbind(std::span<const Program> programs, std::uint16_t port,
                                     std::optional<std::uint16_t> rdma_port) {
  return for_each(programs, [&](Rpcbind& rpcbind, std::uint32_t program, std::uint32_t version,
                                const Netid& netid, RpcbindOutcome& outcome) {
    // What a server that was killed left behind would be kept otherwise.
    (void)rpcbind.unset(program, version, netid);
    if (netid.rdma && !rdma_port) return;
    const bool agreed = rpcbind.set(program, version, netid, netid.rdma ? *rdma_port : port);
    ++(agreed ? outcome.accepted : outcome.refused);
  });
}

RpcbindOutcome unregister_with_rpcbind(std::span<const Program> programs) {
  return for_each(programs, [](Rpcbind& rpcbind, std::uint32_t program, std::uint32_t version,
                               const Netid& netid, RpcbindOutcome& outcome) {
    ++(rpcbind.unset(program, version, netid) ? outcome.accepted : outcome.refused);
  });
}

}  // namespace braid::rpc
