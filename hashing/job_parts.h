// A large job as a sequence of jobs that fit a slot.
#pragma once

#include <cstdint>

#include "hashing/job.h"

namespace braid::hashing {

// Parts are made one after the other, because where a part begins depends on where the one before it was cut.
class JobParts {
 public:
  // `bytes` is what checked_bytes() returned.
  JobParts(Job job, std::uint64_t bytes, std::size_t part_bytes)
      : spans_(std::move(job.spans)), job_(std::move(job)), left_(bytes), part_bytes_(part_bytes) {}

  // The next part; for a job that fits one part, the job itself. Its size is returned in `bytes`.
  Job next(std::uint64_t& bytes);
  // Adds the last part's result to `all`. True when there is nothing left to do.
  bool add(JobResult part, JobResult& all);

 private:
  Job next_spans(std::uint64_t& bytes);
  void skip(std::uint64_t bytes);

  std::vector<base::BytesView> spans_;
  Job job_;             // without its spans
  std::uint64_t left_;  // bytes not consumed
  std::size_t part_bytes_;
  std::size_t span_ = 0;           // the first span that is not consumed
  std::size_t span_offset_ = 0;    // how much of it is
  std::size_t spans_taken_ = 0;    // by the last part, for Work::hash
  std::uint64_t bytes_taken_ = 0;  // by the last part
  std::uint64_t done_ = 0;
};

}  // namespace braid::hashing
