// RDMA Reads: what a call's read chunks hold comes here (RFC 8166 section 3.4.5), no more at once than device
// and peer agreed to.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "base/result.h"
#include "io/payload.h"
#include "rdma/assembly.h"
#include "rdma/chain.h"
#include "rdma/chunks.h"
#include "rdma/post_queue.h"
#include "rdma/registration.h"
#include "rdma/verbs.h"

namespace braid::rdma {

// What is to be read for one call. Its owner keeps it and the chunks until on_chunks_read(), and says then
// when it takes the results.
struct ChunkReads {
  const Chunks* chunks = nullptr;
  // Results: the data of each read chunk, padded, in the order of positions; that of the call chunk.
  std::vector<ChunkData> data;
  io::Payload call;

  // For the queue.
  struct Read {
    RemoteKey key;
    std::uint64_t address = 0;
    io::Payload to;
  };
  std::vector<Read> reads;
  std::size_t held_bytes = 0;  // of slabs
  std::size_t posted = 0;      // of them
  std::uint32_t running = 0;   // batches that have not completed
  bool failed = false;
  void clear();
};

class ReadQueueUser {
 public:
  virtual ~ReadQueueUser() = default;
  virtual void on_chunks_read(ChunkReads& chunk_reads) = 0;
  virtual void on_read_failed(WorkStatus status) = 0;
  // There is no memory now: run() is to be called again.
  virtual void on_reads_starved() = 0;
};

struct ReadLimits {
  std::uint32_t reads_max = 1;   // RDMA Reads at once
  std::uint32_t pieces_max = 1;  // of the device
  // Of slabs held by calls that are being read, or whose results have not been taken; the first may have
  // more.
  std::size_t bytes_max = 0;
};

// In the order of arrival: the reads of several calls overlap, and a call is complete when its last one is.
class ReadQueue {
 public:
  ReadQueue(io::SlabPool& pool, ReadQueueUser& user) : cursor_(pool), user_(user) {}
  ReadQueue(const ReadQueue&) = delete;
  ReadQueue& operator=(const ReadQueue&) = delete;

  void set_up(PostQueue& posts, MemoryMap& map, const ReadLimits& limits);
  void add(ChunkReads& chunk_reads);
  // Its results leave it, after on_chunks_read(): others have room, so run() is to be called.
  void taken(ChunkReads& chunk_reads);
  // Posts what may be posted.
  void run();
  // Drops what has not been posted.
  void abandon();
  [[nodiscard]] bool idle() const { return running_ == 0; }

 private:
  // Some reads of one call, posted together.
  struct Batch final : Work {
    void completed(WorkStatus status, std::uint32_t bytes) override;
    ReadQueue* queue = nullptr;
    ChunkReads* chunk_reads = nullptr;
    std::uint32_t reads = 0;
    Chain chain;
  };

  // Memory for all data of the call, and the reads that fill it.
  base::Result<void> prepare(ChunkReads& chunk_reads);
  base::Result<io::Payload> plan(ChunkReads& chunk_reads, const Chunk& chunk, std::size_t room_bytes);
  bool post_some(ChunkReads& chunk_reads);
  void ended(Batch& batch, WorkStatus status);

  io::SlabCursor cursor_;
  ReadQueueUser& user_;
  PostQueue* posts_ = nullptr;
  MemoryMap* map_ = nullptr;
  ReadLimits limits_;
  std::deque<ChunkReads*> waiting_;  // not all of their reads are posted
  std::size_t held_bytes_ = 0;       // as ReadLimits says
  std::uint32_t reads_out_ = 0;
  std::size_t running_ = 0;  // batches
  std::vector<std::unique_ptr<Batch>> batches_;
  std::vector<Batch*> free_;
};

}  // namespace braid::rdma
