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

void ChunkReads::clear() {
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

void ReadQueue::add(ChunkReads& chunk_reads) {
  waiting_.push_back(&chunk_reads);
  run();
}

void ReadQueue::taken(ChunkReads& chunk_reads) { held_bytes_ -= std::exchange(chunk_reads.held_bytes, 0); }

void ReadQueue::abandon() { waiting_.clear(); }

void ReadQueue::run() {
  while (!waiting_.empty() && reads_out_ < limits_.reads_max) {
    ChunkReads& chunk_reads = *waiting_.front();
    if (chunk_reads.reads.empty()) {
      const std::size_t bytes = slab_bytes_of(*chunk_reads.chunks);
      if (held_bytes_ > 0 && held_bytes_ + bytes > limits_.bytes_max) return;
      if (!prepare(chunk_reads)) {
        chunk_reads.reads.clear();
        chunk_reads.data.clear();
        chunk_reads.call.clear();
        return user_.on_reads_starved();
      }
      chunk_reads.held_bytes = bytes;
      held_bytes_ += bytes;
    }
    if (!post_some(chunk_reads)) return user_.on_read_failed(WorkStatus::local_error);
    if (chunk_reads.posted == chunk_reads.reads.size()) waiting_.pop_front();
  }
}

base::Result<void> ReadQueue::prepare(ChunkReads& chunk_reads) {
  const Chunks& chunks = *chunk_reads.chunks;
  if (chunks.call()) {
    auto room = plan(chunk_reads, *chunks.call(), chunks.call()->bytes);
    if (!room) return base::fail(room.error());
    chunk_reads.call = std::move(*room);
  }
  for (const Chunk& chunk : chunks.reads()) {
    auto room = plan(chunk_reads, chunk, xdr::padded(chunk.bytes));
    if (!room) return base::fail(room.error());
    chunk_reads.data.push_back({chunk.position, std::move(*room)});
  }
  return {};
}

base::Result<io::Payload> ReadQueue::plan(ChunkReads& chunk_reads, const Chunk& chunk,
                                          std::size_t room_bytes) {
  auto room = take_room(cursor_, room_bytes);
  if (!room) return base::fail(room.error());
  // The padding that the peer need not send; it lies in the last piece.
  if (const std::size_t padding = room_bytes - chunk.bytes; padding > 0) {
    const base::MutableBytes last = room->ranges().back().writable();
    std::memset(last.data() + last.size() - padding, 0, padding);
  }
  std::size_t offset = 0;
  for (const Segment& segment : chunk_reads.chunks->segments(chunk)) {
    chunk_reads.reads.push_back({segment.key, segment.address, room->slice(offset, segment.bytes)});
    offset += segment.bytes;
  }
  return room;
}

// As many reads of the call as may be on their way, as one batch.
bool ReadQueue::post_some(ChunkReads& chunk_reads) {
  if (free_.empty()) {
    free_.push_back(batches_.emplace_back(std::make_unique<Batch>()).get());
    free_.back()->queue = this;
  }
  Batch& batch = *free_.back();
  batch.chunk_reads = &chunk_reads;
  const std::size_t first = chunk_reads.posted;
  while (chunk_reads.posted < chunk_reads.reads.size() &&
         (batch.chain.size() == 0 || reads_out_ + batch.chain.size() < limits_.reads_max)) {
    const ChunkReads::Read& read = chunk_reads.reads[chunk_reads.posted];
    const auto added =
        batch.chain.transfer(Opcode::read, read.to, read.key, read.address, *map_, limits_.pieces_max);
    if (!added) break;
    ++chunk_reads.posted;
  }
  batch.reads = batch.chain.size();
  if (chunk_reads.posted == first) {
    batch.chain.clear();
    return false;
  }
  posts_->post({&batch, batch.chain.requests()});
  free_.pop_back();
  reads_out_ += batch.reads;
  ++running_;
  ++chunk_reads.running;
  return true;
}

void ReadQueue::Batch::completed(WorkStatus status, std::uint32_t) { queue->ended(*this, status); }

void ReadQueue::ended(Batch& batch, WorkStatus status) {
  ChunkReads& chunk_reads = *batch.chunk_reads;
  batch.chain.clear();
  free_.push_back(&batch);
  reads_out_ -= batch.reads;
  --running_;
  --chunk_reads.running;
  if (status != WorkStatus::success) return user_.on_read_failed(status);
  if (chunk_reads.running == 0 && chunk_reads.posted == chunk_reads.reads.size())
    user_.on_chunks_read(chunk_reads);
  run();
}

}  // namespace braid::rdma
