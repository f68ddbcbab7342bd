#include "tests/e2e/raw_client.h"

#include <poll.h>

namespace braid::e2e {
namespace {

std::pair<int, int> program_of(Service service) {
  switch (service) {
    case Service::nfs:
      return {100003, 3};
    case Service::mount:
      return {100005, 3};
  }
  return {0, 0};
}

}  // namespace

RawClient::RawClient(std::uint16_t port, Service service) : rpc_(rpc_init_context()) {
  const auto [program, version] = program_of(service);
  int outcome = 1;
  const rpc_cb connected = [](rpc_context*, int status, void*, void* argument) {
    *static_cast<int*>(argument) = status;
  };
  if (rpc_connect_port_async(rpc_, "127.0.0.1", port, program, version, connected, &outcome) != 0)
    throw std::runtime_error(rpc_get_error(rpc_));
  while (outcome == 1) serve_once();
  if (outcome != RPC_STATUS_SUCCESS) throw std::runtime_error(rpc_get_error(rpc_));
}

RawClient::~RawClient() { rpc_destroy_context(rpc_); }

void RawClient::act_as(std::uint32_t uid, std::uint32_t gid) {
  rpc_set_auth(rpc_, libnfs_authunix_create("e2e", uid, gid, 0, nullptr));
}

void RawClient::serve_once() {
  pollfd waiting{rpc_get_fd(rpc_), static_cast<short>(rpc_which_events(rpc_)), 0};
  if (::poll(&waiting, 1, 60'000) <= 0) throw std::runtime_error("the server does not answer");
  if (rpc_service(rpc_, waiting.revents) < 0) throw std::runtime_error(rpc_get_error(rpc_));
}

void RawClient::wait() {
  while (running_ > 0) serve_once();
}

}  // namespace braid::e2e
