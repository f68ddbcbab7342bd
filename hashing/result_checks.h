// Does some of a card's work again on a core, before any of it is believed.
#pragma once

#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "hashing/blake3_batch.h"
#include "hashing/job.h"
#include "hashing/task.h"

namespace braid::hashing {

// Belongs to one thread, and keeps its memory from batch to batch.
class ResultChecks {
 public:
  // Of the chunks of all batches one in `one_in` is looked at, besides one of each batch.
  explicit ResultChecks(std::uint32_t one_in) : one_in_(one_in) {}

  // Of a batch whose tasks have their results. False: one of the chunks that were looked at is not what a
  // core makes of its bytes.
  bool are_right(std::span<Task* const> tasks);

 private:
  bool is_right(const Job& job, const Chunk& chunk);
  base::BytesView gather(const Job& job, std::uint64_t offset, std::size_t length);

  const std::uint32_t one_in_;
  std::uint64_t chunks_ = 0, batches_ = 0;
  Blake3Batch hasher_;
  base::Bytes gathered_;
};

}  // namespace braid::hashing
