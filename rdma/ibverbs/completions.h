// A completion queue of one device on one reactor's thread: polled while it is busy, waited for while it is
// idle. It keeps its size, since many devices cannot change it: when there is no more room another is made.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <memory>
#include <vector>

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
// Of a silent request: its completion can only be a failure, too.
constexpr std::uint64_t silent_number = 0;

// Whose requests complete there.
class CompletionsUser {
 public:
  virtual ~CompletionsUser() = default;
  // The device has failed: nothing completes by itself any more. Not to end the use inside.
  virtual void on_completions_lost() = 0;
  // Whether this is the number of its queue pair, of which a silent request failed.
  [[nodiscard]] virtual bool has_queue_pair(std::uint32_t number) const = 0;
  virtual void on_silent_failed(WorkStatus status) = 0;
};

// Belongs to the reactor's thread. close() must have ended before it is destroyed, when no queue pair uses
// it.
class Completions {
 public:
  static base::Result<std::unique_ptr<Completions>> create(io::Reactor& reactor, IbDevice& device,
                                                           std::uint32_t size);
  ~Completions();
  Completions(const Completions&) = delete;
  Completions& operator=(const Completions&) = delete;

  // Room for so many requests of the user, until release(). False if there is not as much.
  bool reserve(std::uint32_t requests, CompletionsUser& user);
  void release(std::uint32_t requests, CompletionsUser& user);
  // Takes what has completed by now. Not to be called inside a callback.
  void take_all();
  io::Op<> close();

  [[nodiscard]] ibv_cq* queue() const { return queue_; }
  [[nodiscard]] std::uint32_t size() const { return size_; }

 private:
  Completions(io::Reactor& reactor, IbDevice& device, std::uint32_t size)
      : reactor_(reactor), device_(device), size_(size) {}
  base::Result<void> set_up();
  io::Op<> run();
  // How many there were; negative if the device has failed.
  int poll();
  void take(const ibv_wc& completed);
  void take_silent(std::uint32_t queue_pair, WorkStatus status);
  void take_event();
  void lose();

  io::Reactor& reactor_;
  IbDevice& device_;
  ibv_comp_channel* channel_ = nullptr;
  ibv_cq* queue_ = nullptr;
  const std::uint32_t size_;
  std::uint32_t used_ = 0;
  std::vector<CompletionsUser*> users_;
  bool lost_ = false;
  unsigned unacknowledged_ = 0;  // events: acknowledging costs a lock, so it is done for many at once
  io::Gate gate_;
};

}  // namespace braid::rdma::ibverbs
