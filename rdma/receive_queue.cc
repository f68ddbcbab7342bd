#include "rdma/receive_queue.h"

#include <utility>

namespace braid::rdma {

ReceiveQueue::ReceiveQueue(io::SlabPool& pool, std::uint32_t count, std::uint32_t bytes_each,
                           ReceiveUser& user)
    : cursor_(pool), bytes_each_(bytes_each), user_(user), slots_(count) {
  for (Slot& slot : slots_) {
    slot.queue = this;
    idle_.push_back(&slot);
  }
}

bool ReceiveQueue::prepare() { return take_buffer(*idle_.back()); }

bool ReceiveQueue::fill(Endpoint& endpoint, const MemoryMap& map) {
  while (!idle_.empty()) {
    if (!post(*idle_.back(), endpoint, map)) return false;
    idle_.pop_back();
  }
  return true;
}

bool ReceiveQueue::take_buffer(Slot& slot) {
  if (slot.buffer.length > 0) return true;
  auto buffer = cursor_.carve(bytes_each_);
  if (!buffer) return false;
  slot.buffer = std::move(*buffer);
  return true;
}

bool ReceiveQueue::post(Slot& slot, Endpoint& endpoint, const MemoryMap& map) {
  if (!take_buffer(slot)) return false;
  const LocalPiece piece{slot.buffer.writable().data(), bytes_each_, map.key_of(slot.buffer.slab)};
  if (!endpoint.post_receive(slot, piece)) {
    slot.buffer = {};
    return false;
  }
  ++posted_;
  return true;
}

void ReceiveQueue::Slot::completed(WorkStatus status, std::uint32_t bytes) {
  --queue->posted_;
  queue->idle_.push_back(this);
  io::SlabRange message = std::exchange(buffer, {});
  if (status != WorkStatus::success) return queue->user_.on_receive_failed(status);
  message.length = bytes;
  queue->user_.on_received(std::move(message));
}

}  // namespace braid::rdma
