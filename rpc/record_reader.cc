#include "rpc/record_reader.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/assert.h"

namespace braid::rpc {
namespace {

// Fragments up to this size are moved together, so that a record of many tiny fragments does not become a
// payload of many tiny ranges. Clients that send bulk data send larger fragments.
constexpr std::uint32_t moved_bytes_max = 4096;

void advance(io::SlabRange& input, std::size_t bytes) {
  input.offset += static_cast<std::uint32_t>(bytes);
  input.length -= static_cast<std::uint32_t>(bytes);
}

}  // namespace

bool RecordReader::read_mark(io::SlabRange& input) {
  const std::size_t take = std::min<std::size_t>(mark_.size() - mark_bytes_, input.length);
  std::memcpy(mark_.data() + mark_bytes_, input.writable().data(), take);
  mark_bytes_ += static_cast<std::uint32_t>(take);
  advance(input, take);
  return mark_bytes_ == mark_.size();
}

RecordReader::Next RecordReader::begin_fragment() {
  auto mark = std::bit_cast<std::uint32_t>(mark_);
  if constexpr (std::endian::native == std::endian::little) mark = __builtin_bswap32(mark);
  mark_bytes_ = 0;
  last_ = (mark & last_fragment_bit) != 0;
  fragment_bytes_ = fragment_left_ = mark & ~last_fragment_bit;
  if (fragment_bytes_ > limits_.record_bytes_max - record_.size()) return Next::too_long;
  if (fragment_bytes_ == 0 && ++empty_fragments_ > limits_.empty_fragments_max) return Next::endless;
  in_fragment_ = true;
  return Next::record;
}

void RecordReader::take(io::SlabRange& input) {
  const auto bytes = std::min(input.length, fragment_left_);
  io::SlabRange piece{input.slab, input.offset, bytes};
  advance(input, bytes);
  fragment_left_ -= bytes;
  if (!record_.empty() && fragment_bytes_ <= moved_bytes_max) {
    const io::SlabRange& last = record_.ranges().back();
    const std::uint32_t end = last.offset + last.length;
    if (last.slab.get() == piece.slab.get() && end < piece.offset) {
      // Between them lie only marks of this record.
      std::memmove(piece.slab.data() + end, piece.writable().data(), bytes);
      piece.offset = end;
    }
  }
  record_.append(std::move(piece));
}

void RecordReader::append(io::SlabRange piece) {
  base::check(piece.length <= fragment_remaining(), "no more than the fragment's rest is appended");
  fragment_left_ -= piece.length;
  record_.append(std::move(piece));
}

RecordReader::Next RecordReader::next(io::SlabRange& input, io::Payload& record) {
  for (;;) {
    if (!in_fragment_) {
      if (input.length == 0 || !read_mark(input)) return Next::incomplete;
      if (Next begun = begin_fragment(); begun != Next::record) return begun;
    }
    if (fragment_left_ > 0) {
      if (input.length == 0) return Next::incomplete;
      take(input);
      if (fragment_left_ > 0) return Next::incomplete;
    }
    in_fragment_ = false;
    ++fragments_;
    if (!last_) continue;
    fragments_ = empty_fragments_ = 0;
    record = std::move(record_);
    record_ = {};
    return Next::record;
  }
}

void RecordReader::park() {
  base::check(record_.size() <= park_bytes_max, "only little is parked");
  const auto record = record_.in_memory();
  if (record_.empty() || !record) return;
  parked_.resize(record->size());
  record->copy_to(0, parked_);
  record_.clear();
}

void RecordReader::unpark(const io::SlabRange& to) {
  base::check(to.length == parked_.size(), "what was parked is put back");
  if (parked_.empty()) return;
  std::memcpy(to.writable().data(), parked_.data(), parked_.size());
  record_.append(to);
  parked_ = {};
}

}  // namespace braid::rpc
