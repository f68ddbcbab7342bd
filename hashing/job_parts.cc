#include "hashing/job_parts.h"

#include <algorithm>

namespace braid::hashing {

JobParts::JobParts(Job job, std::uint64_t bytes, std::size_t part_bytes)
    : spans_(std::move(job.spans)), job_(std::move(job)) {
  ends_.reserve(spans_.size());
  for (std::uint64_t end = 0; const base::BytesView span : spans_) ends_.push_back(end += span.size());
  if (job_.work == Work::hash) {
    divide_spans(part_bytes);
    return;
  }
  do {
    const std::uint64_t begin = parts_.empty() ? 0 : parts_.back().end;
    parts_.push_back({begin, std::min<std::uint64_t>(begin + part_bytes, bytes), 0, 0});
  } while (parts_.back().end < bytes);
}

// Whole spans: a chunk is hashed in one part, however long it is.
void JobParts::divide_spans(std::size_t part_bytes) {
  const std::size_t spans_max = part_bytes / chunk_bytes_min;
  parts_.push_back({0, 0, 0, 0});
  for (std::size_t i = 0; i < spans_.size(); ++i) {
    const Part& last = parts_.back();
    const bool is_full = ends_[i] - last.begin > part_bytes || last.spans_count >= spans_max;
    if (is_full && last.spans_count > 0) parts_.push_back({last.end, last.end, i, 0});
    parts_.back().end = ends_[i];
    ++parts_.back().spans_count;
  }
}

std::vector<base::BytesView> JobParts::spans_of(std::uint64_t begin, std::uint64_t end) const {
  std::vector<base::BytesView> out;
  auto i = static_cast<std::size_t>(std::ranges::upper_bound(ends_, begin) - ends_.begin());
  for (; begin < end; ++i) {
    const std::uint64_t span_begin = ends_[i] - spans_[i].size();
    const auto part = spans_[i].subspan(begin - span_begin);
    out.push_back(part.first(std::min<std::uint64_t>(part.size(), end - begin)));
    begin += out.back().size();
  }
  return out;
}

Job JobParts::piece(std::uint64_t begin, std::uint64_t end) const {
  Job out = job_;
  out.spans = spans_of(begin, end);
  out.stream_offset = job_.stream_offset + begin;
  out.is_end = job_.is_end && end == parts_.back().end;
  return out;
}

Job JobParts::part(std::size_t i) const {
  const Part& part = parts_[i];
  if (job_.work != Work::hash) return piece(part.begin, part.end);
  Job out = job_;
  const auto first = spans_.begin() + static_cast<std::ptrdiff_t>(part.first_span);
  out.spans.assign(first, first + static_cast<std::ptrdiff_t>(part.spans_count));
  out.stream_offset = job_.stream_offset + part.begin;
  return out;
}

Job JobParts::stretch(std::uint64_t bytes) const {
  return piece(at_, at_ + std::min(bytes, parts_.back().end - at_));
}

void JobParts::append(const JobResult& result, std::size_t first_chunk, JobResult& all) {
  const auto first = result.chunks.begin() + static_cast<std::ptrdiff_t>(first_chunk);
  all.chunks.insert(all.chunks.end(), first, result.chunks.end());
  all.consumed = at_;
  all.choice = result.choice;
}

bool JobParts::adopt(std::size_t i, const JobResult& guess, JobResult& all) {
  std::size_t first = 0;
  if (at_ != parts_[i].begin) {
    const std::uint64_t boundary = job_.stream_offset + at_;
    const auto found = std::ranges::lower_bound(guess.chunks, boundary, {}, &Chunk::offset);
    if (found == guess.chunks.end() || found->offset != boundary) return false;
    first = static_cast<std::size_t>(found - guess.chunks.begin());
  }
  at_ = parts_[i].begin + guess.consumed;
  append(guess, first, all);
  return true;
}

bool JobParts::add(const JobResult& result, JobResult& all) {
  at_ += result.consumed;
  append(result, 0, all);
  return result.consumed > 0;
}

}  // namespace braid::hashing
