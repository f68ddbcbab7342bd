// A large job as parts that several threads and cards work on at once, and their results joined to what the
// job gives in one piece.
//
// Where a part of a stream is to begin depends on how the bytes before it are cut, so all parts but the first
// begin at a guess. What a chunk is depends only on the bytes since the last boundary: from the first
// boundary on that a guess shares with the true cuts, its chunks are the true ones. Between the part before
// and that boundary the stream is cut again, from the last true boundary on (a stretch).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "hashing/job.h"

namespace braid::hashing {

// One job's parts, worked off in order:
//
//   for every part i, with `guess` the result of part(i):
//     while (!parts.adopt(i, guess, all) && parts.left_of(i) > 0)
//       if (!parts.add(<result of parts.stretch(up to i's end)>, all)) break;
//
// Of Work::hash every span is a chunk already: parts are groups of spans, and adopt() always succeeds.
class JobParts {
 public:
  // `bytes` is what checked_bytes() returned.
  JobParts(Job job, std::uint64_t bytes, std::size_t part_bytes);

  [[nodiscard]] std::size_t count() const { return parts_.size(); }
  // Part i as if a boundary were at its start; for a job that fits one part, the job itself.
  [[nodiscard]] Job part(std::size_t i) const;
  [[nodiscard]] std::uint64_t bytes_of(std::size_t i) const { return parts_[i].end - parts_[i].begin; }
  // Bytes between the last true boundary and the end of part i; 0 if the boundary lies behind that.
  [[nodiscard]] std::uint64_t left_of(std::size_t i) const {
    return parts_[i].end > at_ ? parts_[i].end - at_ : 0;
  }
  // Takes the true chunks over from part i's result; false if the last true boundary is none of its own.
  bool adopt(std::size_t i, const JobResult& guess, JobResult& all);

  // Not more than `bytes` bytes from the last true boundary on; not of Work::hash.
  [[nodiscard]] Job stretch(std::uint64_t bytes) const;
  // Takes a stretch's result over. False if it had no chunk: what is there is open until more bytes follow.
  bool add(const JobResult& result, JobResult& all);

 private:
  struct Part {
    std::uint64_t begin, end;             // bytes
    std::size_t first_span, spans_count;  // of Work::hash
  };
  void divide_spans(std::size_t part_bytes);
  [[nodiscard]] std::vector<base::BytesView> spans_of(std::uint64_t begin, std::uint64_t end) const;
  [[nodiscard]] Job piece(std::uint64_t begin, std::uint64_t end) const;
  void append(const JobResult& result, std::size_t first_chunk, JobResult& all);

  std::vector<base::BytesView> spans_;
  std::vector<std::uint64_t> ends_;  // of the spans in the job
  Job job_;                          // without its spans
  std::vector<Part> parts_;
  std::uint64_t at_ = 0;  // the last true boundary, from the start of the job
};

}  // namespace braid::hashing
