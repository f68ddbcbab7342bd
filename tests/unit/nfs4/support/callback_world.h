// A server that can call its clients, and clients that answer.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "nfs4/callback/cb_compound.h"
#include "rpc/memory/memory_transport.h"
#include "rpc/server.h"
#include "rpc/session.h"
#include "rpc/tcp_worker.h"
#include "tests/unit/nfs4/support/world.h"

namespace braid::nfs4::test {

class CallbackWorld : public World {
 public:
  explicit CallbackWorld(EngineOptions options = {}, const std::vector<ExportSpec>& exports = {ExportSpec{}},
                         Capability capability = {});
  ~CallbackWorld();
  // As World::restart(); connections end.
  void restart();

  // Waits until it holds; for what happens on other threads.
  static void until(const std::function<bool()>& holds) {
    while (!holds()) std::this_thread::yield();
  }

 private:
  friend class CallbackPeer;
  void begin();
  void end();

  base::MetricRegistry registry_;
  rpc::Server server_{{}, {}, registry_, base::SipKey{1, 2}};
  rpc::TcpMetrics tcp_metrics_{registry_};
  // On the reactor's thread.
  std::unique_ptr<rpc::TcpWorker> tcp_;
  std::unique_ptr<rpc::ServerWorker> worker_;
};

// The client's end of a connection. Answers with `status`, and CB_GETATTR with what is below.
class CallbackPeer final : private rpc::Receiver {
 public:
  struct Call {
    nfs_cb_opnum4 op = nfs_cb_opnum4::OP_CB_SEQUENCE;  // that: with nothing behind it
    base::Bytes args;                                  // of the operation, as they came
    stateid4 id;                                       // CB_RECALL
    std::uint32_t keep = 0;                            // CB_RECALL_ANY
    std::size_t attributes = 0;                        // CB_GETATTR: how many words were asked for
    std::vector<callback::ReferringCall> referring;    // of CB_SEQUENCE
  };
  explicit CallbackPeer(CallbackWorld& world);
  ~CallbackPeer() override;

  // For a Caller.
  [[nodiscard]] rpc::Session* connection() const { return session_; }
  [[nodiscard]] std::vector<Call> calls();
  // Waits until the n-th call of this kind has come.
  Call await(nfs_cb_opnum4 op, std::size_t number = 1);

  // Set before a call comes.
  std::atomic<nfsstat4> status{nfsstat4::NFS4_OK};
  std::atomic<bool> silent{false};
  std::atomic<std::uint64_t> change{0};  // of CB_GETATTR
  std::atomic<std::uint64_t> size{0};
  std::atomic<bool> keeps_times{false};  // says the next two, in seconds
  std::atomic<std::int64_t> atime{0};
  std::atomic<std::int64_t> mtime{0};

 private:
  bool ready(rpc::Connection& /*connection*/) override { return true; }
  void on_message(rpc::Connection& connection, io::Payload message, base::TimePoint arrived) override;
  void on_sent(rpc::Connection& /*connection*/, std::size_t /*bytes*/) override {}
  [[nodiscard]] bool idle() const override { return true; }
  void on_closed(rpc::Connection& /*connection*/) override {}
  void answer(xdr::Encoder& out, const CB_SEQUENCE4args& sequence, const Call& call) const;

  CallbackWorld& world_;
  std::unique_ptr<rpc::MemoryPair> pair_;
  rpc::Session* session_ = nullptr;
  std::vector<Call> calls_;
};

}  // namespace braid::nfs4::test
