// libnfs' raw NFSv3 and MOUNT client: one connection, calls answered by callbacks.
#pragma once

// clang-format off: the others need what this one defines
#include <nfsc/libnfs.h>
// clang-format on
#include <nfsc/libnfs-raw-mount.h>
#include <nfsc/libnfs-raw-nfs.h>
#include <nfsc/libnfs-raw.h>
#include <nfsc/libnfs-zdr.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace braid::e2e {

enum class Service { nfs, mount };

class RawClient {
 public:
  RawClient(std::uint16_t port, Service service);
  ~RawClient();
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  void act_as(std::uint32_t uid, std::uint32_t gid);
  [[nodiscard]] rpc_context* get() const { return rpc_; }

  // Issues a call: `issue(rpc, callback, private)` calls one of libnfs' rpc_..._async functions; `take` sees
  // the decoded results, which live until it returns.
  template <class Res, class Issue, class Take>
  void call_async(Issue issue, Take take) {
    struct Pending {
      RawClient& client;
      Take take;
    };
    auto* pending = new Pending{*this, std::move(take)};
    const rpc_cb callback = [](rpc_context*, int status, void* data, void* argument) {
      const std::unique_ptr<Pending> mine(static_cast<Pending*>(argument));
      --mine->client.running_;
      if (status != RPC_STATUS_SUCCESS) {
        ++mine->client.failed_;
        return;
      }
      mine->take(*static_cast<const Res*>(data));
    };
    ++running_;
    if (issue(rpc_, callback, static_cast<void*>(pending)) != 0)
      throw std::runtime_error(rpc_get_error(rpc_));
  }
  // The same, and waits for the answer.
  template <class Res, class Issue, class Take>
  void call(Issue issue, Take take) {
    call_async<Res>(std::move(issue), std::move(take));
    wait();
  }
  // Until every call is answered.
  void wait();
  // Calls that ended with an RPC error in place of results.
  [[nodiscard]] int failed() const { return failed_; }

 private:
  void serve_once();

  rpc_context* rpc_;
  int running_ = 0;
  int failed_ = 0;
};

}  // namespace braid::e2e
