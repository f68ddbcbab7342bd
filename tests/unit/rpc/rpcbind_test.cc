// Registration with a real rpcbind, in mount and network namespaces of its own: the host's rpcbind, if any,
// is not touched.
#include "rpc/rpcbind.h"

#include <gtest/gtest.h>
#include <net/if.h>
#include <netconfig.h>
#include <netinet/in.h>
#include <rpc/pmap_clnt.h>
#include <rpc/rpc.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>

#include "base/unique_fd.h"

namespace braid::rpc {
namespace {

constexpr const char* rpcbind_program = "/usr/sbin/rpcbind";
constexpr std::uint32_t number = 0x2000'0202;
constexpr std::array<Version, 2> versions{{{.number = 3, .procedures = {}}, {.number = 4, .procedures = {}}}};
const std::array<Program, 1> programs{
    {{.number = number, .name = "T", .versions = versions, .service = nullptr}}};

// A loopback interface and an empty /run that nobody else sees. False where this is not allowed.
bool enter_namespaces() {
  if (::unshare(CLONE_NEWNS | CLONE_NEWNET) != 0) return false;
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("tmpfs", "/run", "tmpfs", 0, nullptr) != 0)
    return false;
  const base::UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  std::strncpy(request.ifr_name, "lo", sizeof request.ifr_name - 1);
  request.ifr_flags = IFF_UP;
  return ::ioctl(socket.get(), SIOCSIFFLAGS, &request) == 0;
}

std::uint16_t announced_port(std::uint32_t version) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return pmap_getport(&address, number, version, IPPROTO_TCP);
}

// The universal address (RFC 5665) that a netid is announced with; empty if it is not announced.
std::string announced_address(std::string_view netid, std::uint32_t version) {
  netconfig* tcp = ::getnetconfigent("tcp");
  for (const rpcblist* one = ::rpcb_getmaps(tcp, "127.0.0.1"); one != nullptr; one = one->rpcb_next)
    if (one->rpcb_map.r_prog == number && one->rpcb_map.r_vers == version && netid == one->rpcb_map.r_netid)
      return one->rpcb_map.r_addr;
  return "";
}

// 78 * 256 + 81 is port 20049. Netids that /etc/netconfig does not have.
bool announced_for_rdma() {
  return announced_address("rdma", 3) == "0.0.0.0.78.81" && announced_address("rdma", 4) == "0.0.0.0.78.81" &&
         announced_address("rdma6", 3) == "::.78.81" && announced_address("rdma6", 4) == "::.78.81";
}
bool not_announced_for_rdma() {
  return announced_address("rdma", 3).empty() && announced_address("rdma6", 4).empty();
}

// Whether that child has not ended yet; it remains to be waited for.
bool runs(pid_t child) {
  siginfo_t ended{};
  return ::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         ended.si_pid == 0;
}

// Runs in the child; 0 when all is as it should be, otherwise which step was not.
int exercise() {
  if (register_with_rpcbind(programs, 2049).present) return 2;  // there is none yet
  const pid_t rpcbind = ::fork();
  if (rpcbind == 0) {
    ::execl(rpcbind_program, rpcbind_program, "-f", nullptr);
    ::_exit(127);
  }
  RpcbindOutcome outcome;
  while (!outcome.present && runs(rpcbind)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    outcome = register_with_rpcbind(programs, 2049);
  }
  int failed = 0;
  if (!outcome.present) failed = 3;
  // Both versions over tcp and tcp6.
  else if (outcome.accepted != 4 || outcome.refused != 0)
    failed = 4;
  else if (announced_port(3) != 2049 || announced_port(4) != 2049)
    failed = 5;
  // As after a restart on another port without having unregistered.
  else if (register_with_rpcbind(programs, 12049).accepted != 4)
    failed = 6;
  else if (announced_port(3) != 12049)
    failed = 7;
  else if (announced_address("tcp", 4) != "0.0.0.0.47.17" || announced_address("tcp6", 4) != "::.47.17")
    failed = 8;
  else if (!not_announced_for_rdma())
    failed = 9;
  else if (register_with_rpcbind(programs, 12049, 20049).accepted != 8 || !announced_for_rdma())
    failed = 10;
  else if (announced_port(3) != 12049)
    failed = 11;
  // As after a restart without RDMA.
  else if (register_with_rpcbind(programs, 12049).accepted != 4 || !not_announced_for_rdma())
    failed = 12;
  else if (register_with_rpcbind(programs, 12049, 20049).refused != 0 || !announced_for_rdma())
    failed = 13;
  else if (unregister_with_rpcbind(programs).refused != 0)
    failed = 14;
  else if (announced_port(3) != 0 || announced_port(4) != 0 || !not_announced_for_rdma())
    failed = 15;
  ::kill(rpcbind, SIGKILL);
  ::waitpid(rpcbind, nullptr, 0);
  return failed;
}

TEST(RpcbindTest, programs_are_announced_and_taken_back) {
  if (::geteuid() != 0 || ::access(rpcbind_program, X_OK) != 0) GTEST_SKIP() << "needs root and rpcbind";
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  constexpr int not_allowed = 77;
  if (child == 0) ::_exit(enter_namespaces() ? exercise() : not_allowed);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == not_allowed) GTEST_SKIP() << "needs namespaces";
  EXPECT_EQ(WEXITSTATUS(status), 0) << "step";
}

}  // namespace
}  // namespace braid::rpc
