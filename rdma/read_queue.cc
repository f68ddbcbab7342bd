#include "rdma/read_queue.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "rdma/buffers.h"
#include "xdr/padding.h"

namespace braid::rdma {
namespace {

std::size_t slab_bytes_of(const Chunks& chunks) {
  std::size_t bytes = chunks.call() ? slab_bytes_for(chunks.call()->bytes) : 0;
  for (const Chunk& chunk : chunks.reads()) bytes += slab_bytes_for(xdr::padded(chunk.bytes));
  return bytes;
}

}  // namespace

void Pull::clear() {
  chunks = nullptr;
  data.clear();
  call.clear();
  reads.clear();
  held_bytes = 0;
  posted = 0;
  running = 0;
  failed = false;
}

void ReadQueue::set_up(PostQueue& posts, MemoryMap& map, const ReadLimits& limits) {
  posts_ = &posts;
  map_ = &map;
  limits_ = limits;
}

void ReadQueue::add(Pull& pull) {
  waiting_.push_back(&pull);
  run();
}

void ReadQueue::taken(Pull& pull) { held_bytes_ -= std::exchange(pull.held_bytes, 0); }

void ReadQueue::abandon() { waiting_.clear(); }

void ReadQueue::run() {
  while (!waiting_.empty() && reads_out_ < limits_.reads_max) {
    Pull& pull = *waiting_.front();
    if (pull.reads.empty()) {
      const std::size_t bytes = slab_bytes_of(*pull.chunks);
      if (held_bytes_ > 0 && held_bytes_ + bytes > limits_.bytes_max) return;
      if (!prepare(pull)) {
        pull.reads.clear();
        pull.data.clear();
        pull.call.clear();
        return user_.on_pull_starved();
      }
      pull.held_bytes = bytes;
      held_bytes_ += bytes;
    }
    if (!post_some(pull)) return user_.on_pull_failed(WorkStatus::local_error);
    if (pull.posted == pull.reads.size()) waiting_.pop_front();
  }
}

base::Result<void> ReadQueue::prepare(Pull& pull) {
  const Chunks& chunks = *pull.chunks;
  if (chunks.call()) {
    auto room = plan(pull, *chunks.call(), chunks.call()->bytes);
    if (!room) return base::fail(room.error());
    pull.call = std::move(*room);
  }
  for (const Chunk& chunk : chunks.reads()) {
    auto room = plan(pull, chunk, xdr::padded(chunk.bytes));
    if (!room) return base::fail(room.error());
    pull.data.push_back({chunk.position, std::move(*room)});
  }
  return {};
}

base::Result<io::Payload> ReadQueue::plan(Pull& pull, const Chunk& chunk, std::size_t room_bytes) {
  auto room = take_room(cursor_, room_bytes);
  if (!room) return base::fail(room.error());
  // The padding that the peer need not send; it lies in the last piece.
  if (const std::size_t padding = room_bytes - chunk.bytes; padding > 0) {
    const base::MutableBytes last = room->ranges().back().writable();
    std::memset(last.data() + last.size() - padding, 0, padding);
  }
  std::size_t offset = 0;
  for (const Segment& segment : pull.chunks->segments(chunk)) {
    pull.reads.push_back({segment.key, segment.address, room->slice(offset, segment.bytes)});
    offset += segment.bytes;
  }
  return room;
}

// As many reads of the call as may be on their way, as one batch.
bool ReadQueue::post_some(Pull& pull) {
  if (free_.empty()) {
    free_.push_back(batches_.emplace_back(std::make_unique<Batch>()).get());
    free_.back()->queue = this;
  }
  Batch& batch = *free_.back();
  batch.pull = &pull;
  const std::size_t first = pull.posted;
  while (pull.posted < pull.reads.size() &&
         (batch.chain.size() == 0 || reads_out_ + batch.chain.size() < limits_.reads_max)) {
    const Pull::Read& read = pull.reads[pull.posted];
    const auto added =
        batch.chain.transfer(Opcode::read, read.to, read.key, read.address, *map_, limits_.pieces_max);
    if (!added) break;
    ++pull.posted;
  }
  batch.reads = batch.chain.size();
  if (pull.posted == first) {
    batch.chain.clear();
    return false;
  }
  posts_->post({&batch, batch.chain.requests()});
  free_.pop_back();
  reads_out_ += batch.reads;
  ++running_;
  ++pull.running;
  return true;
}

void ReadQueue::Batch::completed(WorkStatus status, std::uint32_t) { queue->ended(*this, status); }

void ReadQueue::ended(Batch& batch, WorkStatus status) {
  Pull& pull = *batch.pull;
  batch.chain.clear();
  free_.push_back(&batch);
  reads_out_ -= batch.reads;
  --running_;
  --pull.running;
  if (status != WorkStatus::success) return user_.on_pull_failed(status);
  if (pull.running == 0 && pull.posted == pull.reads.size()) user_.on_pulled(pull);
  run();
}

}  // namespace braid::rdma
