// The receives of one connection: always as many posted as calls may come (RFC 8166 section 3.3.1).
#pragma once

#include <cstdint>
#include <vector>

#include "io/slab.h"
#include "rdma/registration.h"
#include "rdma/verbs.h"

namespace braid::rdma {

class ReceiveUser {
 public:
  virtual ~ReceiveUser() = default;
  // A message lies where it was received, and stays there for as long as somebody holds it.
  virtual void on_received(io::SlabRange message) = 0;
  virtual void on_receive_failed(WorkStatus status) = 0;
};

// A buffer belongs to the device while it is posted and to the message afterwards; another takes its place at
// once. Buffers are carved one behind the other from slabs of this connection alone: what an idle connection
// holds is what it has posted, and a slab at most.
class ReceiveQueue {
 public:
  ReceiveQueue(io::SlabPool& pool, std::uint32_t count, std::uint32_t bytes_each, ReceiveUser& user);
  ReceiveQueue(const ReceiveQueue&) = delete;
  ReceiveQueue& operator=(const ReceiveQueue&) = delete;

  // Takes the memory of one receive, before there is a connection. False if there is none.
  bool prepare();
  // Posts every receive that is not posted. False if memory or the connection does not allow it; then to be
  // called again.
  bool fill(Endpoint& endpoint, const MemoryMap& map);
  [[nodiscard]] std::uint32_t posted() const { return posted_; }
  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(slots_.size()); }

 private:
  struct Slot final : Work {
    void completed(WorkStatus status, std::uint32_t bytes) override;
    ReceiveQueue* queue = nullptr;
    io::SlabRange buffer;
  };
  bool take_buffer(Slot& slot);
  bool post(Slot& slot, Endpoint& endpoint, const MemoryMap& map);

  io::SlabCursor cursor_;
  const std::uint32_t bytes_each_;
  ReceiveUser& user_;
  std::vector<Slot> slots_;
  std::vector<Slot*> idle_;
  std::uint32_t posted_ = 0;
};

}  // namespace braid::rdma
