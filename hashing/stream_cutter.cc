#include "hashing/stream_cutter.h"

namespace braid::hashing {

base::Result<std::vector<Chunk>> StreamCutter::feed(base::BytesView piece, bool is_end) {
  Job job{
      .algorithm = algorithm_, .params = &params_, .key = key_, .stream_offset = offset_, .is_end = is_end};
  if (!tail_.empty()) job.spans.push_back(tail_);
  if (!piece.empty()) job.spans.push_back(piece);
  auto result = run_(job);
  if (!result) return base::fail(result.error());
  if (is_end) {
    tail_.clear();
    offset_ = 0;
    return std::move(result->chunks);
  }
  const std::uint64_t consumed = result->consumed;
  offset_ += consumed;
  if (consumed < tail_.size()) {
    tail_.erase(tail_.begin(), tail_.begin() + static_cast<std::ptrdiff_t>(consumed));
    tail_.insert(tail_.end(), piece.begin(), piece.end());
  } else {
    const base::BytesView rest = piece.subspan(consumed - tail_.size());
    tail_.assign(rest.begin(), rest.end());
  }
  return std::move(result->chunks);
}

}  // namespace braid::hashing
