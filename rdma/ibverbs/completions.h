// The completion queue of one device on one reactor's thread: polled while it is busy, waited for while it is
// idle.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "io/gate.h"
#include "io/op.h"
#include "io/reactor.h"
#include "rdma/ibverbs/device.h"
#include "rdma/verbs.h"

namespace braid::rdma::ibverbs {

// In the number of a request: its chain goes on behind it, so that its completion can only be a failure.
// Works are aligned, so the lowest bit is free.
constexpr std::uint64_t chained_bit = 1;
inline std::uint64_t number_of(Work& work, bool chained) {
  return reinterpret_cast<std::uintptr_t>(&work) | (chained ? chained_bit : 0);
}

// Belongs to the reactor's thread. close() must have ended before it is destroyed, when no queue pair uses
// it.
class Completions {
 public:
  static base::Result<std::unique_ptr<Completions>> create(io::Reactor& reactor, IbDevice& device);
  ~Completions();
  Completions(const Completions&) = delete;
  Completions& operator=(const Completions&) = delete;

  // Room for so many more requests. ENOSPC beyond what the device can do.
  base::Result<void> reserve(std::uint32_t requests);
  void release(std::uint32_t requests) { used_ -= requests; }
  io::Op<> close();

  [[nodiscard]] ibv_cq* queue() const { return queue_; }
  [[nodiscard]] IbDevice& device() const { return device_; }

 private:
  Completions(io::Reactor& reactor, IbDevice& device) : reactor_(reactor), device_(device) {}
  base::Result<void> set_up();
  io::Op<> run();
  // True if there were any.
  bool poll();
  void take_event();

  io::Reactor& reactor_;
  IbDevice& device_;
  ibv_comp_channel* channel_ = nullptr;
  ibv_cq* queue_ = nullptr;
  std::uint32_t used_ = 0;
  std::uint32_t size_ = 0;
  unsigned unacknowledged_ = 0;  // events: acknowledging costs a lock, so it is done for many at once
  io::Gate gate_;
};

}  // namespace braid::rdma::ibverbs
