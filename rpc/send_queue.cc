#include "rpc/send_queue.h"

#include <algorithm>
#include <cstdint>

#include "base/assert.h"

namespace braid::rpc {
namespace {

constexpr std::size_t kept_ranges_max = 64;  // an idle connection keeps room for no more

}  // namespace

void SendQueue::append(const io::Payload& bytes) {
  for (const io::SlabRange& range : bytes.ranges()) {
    size_ += range.length;
    if (ranges_.size() > head_) {
      io::SlabRange& last = ranges_.back();
      if (last.slab.get() == range.slab.get() && last.offset + last.length == range.offset) {
        last.length += range.length;
        continue;
      }
    }
    ranges_.push_back(range);
  }
}

SendQueue::Piped SendQueue::front_pipe() const {
  if (empty()) return {};
  const io::SlabRange& front = ranges_[head_];
  return {front.slab.pipe(), front.length};
}

std::size_t SendQueue::iovecs(std::span<iovec> out) const {
  std::size_t used = 0;
  for (std::size_t i = head_; i < ranges_.size() && used < out.size(); ++i) {
    const io::SlabRange& range = ranges_[i];
    if (range.slab.pipe() != nullptr) break;
    out[used++] = {range.slab.data() + range.offset, range.length};
  }
  return used;
}

void SendQueue::consume(std::size_t bytes) {
  base::check(bytes <= size_, "no more is sent than there is");
  size_ -= bytes;
  while (bytes > 0) {
    io::SlabRange& front = ranges_[head_];
    const auto here = static_cast<std::uint32_t>(std::min<std::size_t>(front.length, bytes));
    front.offset += here;
    front.length -= here;
    bytes -= here;
    if (front.length == 0) ranges_[head_++] = {};
  }
  if (size_ == 0) clear();
}

void SendQueue::clear() {
  ranges_.clear();
  if (ranges_.capacity() > kept_ranges_max) ranges_.shrink_to_fit();
  head_ = 0;
  size_ = 0;
}

}  // namespace braid::rpc
