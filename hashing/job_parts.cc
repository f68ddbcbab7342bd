#include "hashing/job_parts.h"

#include <algorithm>

namespace braid::hashing {

Job JobParts::next(std::uint64_t& bytes) {
  if (job_.work == Work::hash) return next_spans(bytes);
  Job part = job_;
  part.stream_offset = job_.stream_offset + done_;
  bytes = 0;
  std::size_t offset = span_offset_;
  for (std::size_t i = span_; i < spans_.size() && bytes < part_bytes_; ++i) {
    const base::BytesView rest = spans_[i].subspan(offset);
    const auto take = rest.first(std::min<std::size_t>(rest.size(), part_bytes_ - bytes));
    if (!take.empty()) part.spans.push_back(take);
    bytes += take.size();
    offset = 0;
  }
  part.is_end = job_.is_end && bytes == left_;
  bytes_taken_ = bytes;
  return part;
}

// Whole spans: a chunk is hashed in one part, however long it is.
Job JobParts::next_spans(std::uint64_t& bytes) {
  Job part = job_;
  part.stream_offset = job_.stream_offset + done_;
  bytes = 0;
  std::size_t i = span_;
  for (; i < spans_.size(); ++i) {
    const std::size_t size = spans_[i].size();
    if (!part.spans.empty() &&
        (bytes + size > part_bytes_ || part.spans.size() >= part_bytes_ / chunk_bytes_min))
      break;
    part.spans.push_back(spans_[i]);
    bytes += size;
  }
  spans_taken_ = i - span_;
  bytes_taken_ = bytes;
  return part;
}

void JobParts::skip(std::uint64_t bytes) {
  while (span_ < spans_.size() && bytes >= spans_[span_].size() - span_offset_) {
    bytes -= spans_[span_].size() - span_offset_;
    span_offset_ = 0;
    ++span_;
  }
  span_offset_ += bytes;
}

bool JobParts::add(JobResult part, JobResult& all) {
  all.where = part.where;
  all.timings.queued += part.timings.queued;
  all.timings.cutting += part.timings.cutting;
  all.timings.hashing += part.timings.hashing;
  all.timings.on_card += part.timings.on_card;
  all.consumed += part.consumed;
  if (all.chunks.empty())
    all.chunks = std::move(part.chunks);
  else
    all.chunks.insert(all.chunks.end(), part.chunks.begin(), part.chunks.end());
  done_ += part.consumed;
  left_ -= part.consumed;
  if (job_.work == Work::hash) {
    span_ += spans_taken_;
    return span_ == spans_.size();
  }
  // What a part leaves that reaches the end of the job is the open tail.
  const bool reached_end = bytes_taken_ == left_ + part.consumed;
  skip(part.consumed);
  return reached_end || part.consumed == 0;
}

}  // namespace braid::hashing
