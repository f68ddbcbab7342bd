#include "xdr/encoder.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "xdr/padding.h"

namespace braid::xdr {
namespace {

constexpr std::size_t step_bytes = 1024;  // carved at a time; the unused tail is given back
constexpr std::size_t copied_max = 512;   // of a range that append() copies

}  // namespace

Encoder::Encoder(io::SlabCursor& cursor, std::size_t headroom) : cursor_(cursor) {
  if (grow(std::max<std::size_t>(headroom, 4))) {
    std::memset(at_, 0, headroom);
    at_ += headroom;
  }
}

void Encoder::flush() {
  const auto used = static_cast<std::size_t>(at_ - begin_);
  if (begin_ == nullptr) return;
  cursor_.trim(range_, used);
  flushed_ += used;
  message_.bytes.append(std::move(range_));
  range_ = {};
  begin_ = at_ = end_ = nullptr;
}

bool Encoder::grow(std::size_t bytes) {
  flush();
  if (!ok_) return false;
  auto carved = cursor_.carve(std::max(bytes, step_bytes));
  if (!carved) {
    ok_ = false;
    return false;
  }
  range_ = std::move(*carved);
  begin_ = at_ = range_.writable().data();
  end_ = begin_ + range_.length;
  return true;
}

void Encoder::copy(base::BytesView bytes, std::size_t room_after) {
  while (!bytes.empty()) {
    if (at_ == end_ && !grow(std::min(bytes.size() + room_after, io::small_slab_bytes))) return;
    const auto here = std::min(static_cast<std::size_t>(end_ - at_), bytes.size());
    std::memcpy(at_, bytes.data(), here);
    at_ += here;
    bytes = bytes.subspan(here);
  }
}

void Encoder::opaque_fixed(base::BytesView bytes) {
  const std::size_t padding = padding_of(bytes.size());
  copy(bytes, padding);
  if (padding == 0) return;
  if (static_cast<std::size_t>(end_ - at_) < padding && !grow(padding)) return;
  std::memset(at_, 0, padding);
  at_ += padding;
}

void Encoder::opaque(base::BytesView bytes) {
  u32(static_cast<std::uint32_t>(bytes.size()));
  opaque_fixed(bytes);
}

void Encoder::payload(const io::Payload& data) {
  u32(static_cast<std::uint32_t>(data.size()));
  flush();
  message_.bytes.append(data);
  flushed_ += data.size();
  if (const std::size_t padding = padding_of(data.size()); padding != 0 && grow(padding)) {
    std::memset(at_, 0, padding);
    at_ += padding;
  }
}

void Encoder::refer(const io::SlabRange& range) {
  flush();
  message_.bytes.append(range);
  flushed_ += range.length;
}

void Encoder::copied(const io::Payload& bytes) {
  for (const io::SlabRange& range : bytes.ranges()) {
    if (const auto memory = range.memory())
      copy(*memory, 0);
    else
      refer(range);
  }
}

void Encoder::append(const Message& encoded) {
  const std::size_t start = size();
  for (std::size_t i = 0; i < encoded.item_count && message_.item_count < Message::items_max; ++i)
    message_.items[message_.item_count++] = {start + encoded.items[i].offset, encoded.items[i].length};
  for (const io::SlabRange& range : encoded.bytes.ranges()) {
    const auto bytes = range.memory();
    if (bytes && range.length <= copied_max)
      copy(*bytes, 0);
    else
      refer(range);
  }
}

Message Encoder::finish() {
  flush();
  flushed_ = 0;
  return std::exchange(message_, {});
}

}  // namespace braid::xdr
