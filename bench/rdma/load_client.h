// A client of the data program that costs as little as possible: its calls are made once and sent again and
// again, always so many of them at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "bench/rdma/data_program.h"
#include "rdma/sim/fabric.h"

namespace braid::bench {

struct LoadOptions {
  DataProcedure procedure = data_read;
  std::uint32_t bytes = 4096;  // of data in each call
  std::uint32_t depth = 16;    // calls at once
};

// Belongs to the fabric's thread. After stop() and as soon as drained() it may be destroyed.
class LoadClient final : private rdma::EndpointUser {
 public:
  LoadClient(rdma::sim::Host& host, const rpc::PeerAddress& server, const LoadOptions& options);
  ~LoadClient() override;
  LoadClient(const LoadClient&) = delete;
  LoadClient& operator=(const LoadClient&) = delete;

  [[nodiscard]] std::uint64_t answered() const { return answered_; }
  [[nodiscard]] bool broken() const { return broken_; }
  void stop() { endpoint_->disconnect(); }
  [[nodiscard]] bool drained() const { return disconnected_ && posted_ == 0; }

 private:
  struct Slot;
  struct Receive;
  struct Send;
  void on_resolved() override;
  void on_established(const rdma::ConnectParameters& peer) override;
  void on_disconnected() override { disconnected_ = true; }
  void post_receive(Receive& receive);
  void post(Slot& slot);

  rdma::sim::Host& host_;
  const LoadOptions options_;
  base::Bytes memory_;  // that calls offer
  std::unique_ptr<rdma::MemoryRegion> region_;
  std::vector<std::unique_ptr<Slot>> slots_;  // by xid
  std::vector<std::unique_ptr<Receive>> receives_;
  std::unique_ptr<rdma::Endpoint> endpoint_;
  std::uint64_t answered_ = 0;
  std::size_t posted_ = 0;
  bool disconnected_ = false;
  bool broken_ = false;  // an answer was not as it should be
};

}  // namespace braid::bench
