#include "io/payload.h"

#include <algorithm>
#include <cstring>

#include "base/assert.h"

namespace braid::io {

void Payload::append(SlabRange range) {
  if (range.length == 0) return;
  size_ += range.length;
  SlabRange* last = spilled() ? &heap_.back() : count_ > 0 ? &inline_[count_ - 1] : nullptr;
  if (last != nullptr && last->slab.get() == range.slab.get() &&
      last->offset + last->length == range.offset) {
    last->length += range.length;
    return;
  }
  if (count_ < inline_max) {
    inline_[count_++] = std::move(range);
    return;
  }
  if (!spilled()) spill();
  heap_.push_back(std::move(range));
}

void Payload::spill() {
  std::vector<SlabRange> all;
  all.reserve(2 * inline_max + 2);
  for (SlabRange& moved : inline_) all.push_back(std::move(moved));
  std::destroy_at(&inline_);
  std::construct_at(&heap_, std::move(all));
  count_ = in_heap;
}

void Payload::take_spilled(Payload& other) {
  std::construct_at(&heap_, std::move(other.heap_));
  count_ = in_heap;
  size_ = other.size_;
  other.clear();
}

void Payload::append(const Payload& other) {
  for (const SlabRange& range : other.ranges()) append(range);
}

Payload Payload::slice(std::size_t offset, std::size_t count) const {
  base::check(offset <= size_ && count <= size_ - offset, "slice lies inside the payload");
  Payload out;
  for (const SlabRange& range : ranges()) {
    if (count == 0) break;
    if (offset >= range.length) {
      offset -= range.length;
      continue;
    }
    const std::size_t take = std::min<std::size_t>(range.length - offset, count);
    out.append(
        {range.slab, static_cast<std::uint32_t>(range.offset + offset), static_cast<std::uint32_t>(take)});
    count -= take;
    offset = 0;
  }
  return out;
}

void Payload::drop_front(std::size_t count) {
  base::check(count <= size_, "no more is dropped than there is");
  if (count == size_) {
    clear();
  } else if (count > 0) {
    *this = slice(count, size_ - count);
  }
}

void Payload::clear() {
  if (spilled()) {
    std::destroy_at(&heap_);
    std::construct_at(&inline_);
  } else {
    for (std::size_t i = 0; i < count_; ++i) inline_[i] = {};
  }
  count_ = 0;
  size_ = 0;
}

InMemory Payload::front_in_memory() const {
  const std::span<const SlabRange> all = ranges();
  std::size_t count = 0;
  std::size_t size = 0;
  for (; count < all.size() && all[count].slab.pipe() == nullptr; ++count) size += all[count].length;
  return {all.first(count), size};
}

std::optional<InMemory> Payload::in_memory() const {
  const InMemory front = front_in_memory();
  if (front.size() != size_) return std::nullopt;
  return front;
}

void InMemory::copy_to(std::size_t offset, base::MutableBytes to) const {
  base::check(offset <= size_ && to.size() <= size_ - offset, "copy lies inside what is in memory");
  for (const SlabRange& range : ranges_) {
    if (to.empty()) return;
    if (offset >= range.length) {
      offset -= range.length;
      continue;
    }
    const std::size_t take = std::min<std::size_t>(range.length - offset, to.size());
    std::memcpy(to.data(), range.slab.data() + range.offset + offset, take);
    to = to.subspan(take);
    offset = 0;
  }
}

base::Bytes InMemory::bytes() const {
  base::Bytes out(size_);
  copy_to(0, out);
  return out;
}

std::size_t to_iovecs(const Payload& payload, std::size_t skip, std::span<iovec> out) {
  std::size_t used = 0;
  for (const SlabRange& range : payload.ranges()) {
    if (used == out.size()) break;
    if (skip >= range.length) {
      skip -= range.length;
      continue;
    }
    if (range.slab.pipe() != nullptr) break;
    out[used++] = {range.slab.data() + range.offset + skip, range.length - skip};
    skip = 0;
  }
  return used;
}

}  // namespace braid::io
