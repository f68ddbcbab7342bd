// Payload: bytes in order, spread over ranges of slabs. It is how READ and WRITE data, records and replies
// travel between modules without being copied. Immutable once handed on.
//
// Some of the bytes may be in pipes, which nobody can look at. What wants to look or to copy asks for an
// InMemory, which there is only of bytes that lie in memory.
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "io/slab.h"

namespace braid::io {

// Bytes of a payload that lie in memory. A view: the payload outlives it, and stays as it is.
class InMemory {
 public:
  [[nodiscard]] std::size_t size() const { return size_; }
  // Copies [offset, offset + to.size()) out; for headers and tests, not for bulk data.
  void copy_to(std::size_t offset, base::MutableBytes to) const;
  // A copy of all.
  [[nodiscard]] base::Bytes bytes() const;

 private:
  friend class Payload;
  InMemory(std::span<const SlabRange> ranges, std::size_t size) : ranges_(ranges), size_(size) {}

  std::span<const SlabRange> ranges_;  // none of them in a pipe
  std::size_t size_;
};

class Payload {
 public:
  Payload() noexcept : inline_() {}
  explicit Payload(SlabRange range) : Payload() { append(std::move(range)); }
  Payload(const Payload& other) : Payload() { append(other); }
  // The other one is empty then.
  Payload(Payload&& other) noexcept {
    if (other.spilled()) [[unlikely]] {
      take_spilled(other);
    } else {
      std::construct_at(&inline_, std::move(other.inline_));
      count_ = std::exchange(other.count_, 0);
      size_ = std::exchange(other.size_, 0);
    }
  }
  Payload& operator=(const Payload& other) {
    if (this != &other) *this = Payload(other);
    return *this;
  }
  Payload& operator=(Payload&& other) noexcept {
    if (this != &other) {
      std::destroy_at(this);
      std::construct_at(this, std::move(other));
    }
    return *this;
  }
  // Most payloads that end are empty: several per call.
  [[gnu::always_inline]] ~Payload() {
    if (count_ != 0) clear();
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::span<const SlabRange> ranges() const {
    return spilled() ? std::span<const SlabRange>(heap_) : std::span<const SlabRange>(inline_.data(), count_);
  }

  // Adds at the end; a range that continues the last one is merged with it.
  void append(SlabRange range);
  void append(const Payload& other);
  // Bytes [offset, offset + count), sharing the slabs; the interval must lie inside.
  [[nodiscard]] Payload slice(std::size_t offset, std::size_t count) const;
  // Drops the first `count` bytes.
  void drop_front(std::size_t count);
  void clear();
  // True if some bytes are in pipes: then only a transport that can send from pipes may have it.
  [[nodiscard]] bool piped() const { return !in_memory(); }
  // All of it; nothing if some bytes are in pipes.
  [[nodiscard]] std::optional<InMemory> in_memory() const;
  // What lies before the first byte in a pipe.
  [[nodiscard]] InMemory front_in_memory() const;

 private:
  static constexpr std::size_t inline_max = 3;
  static constexpr std::size_t in_heap = inline_max + 1;
  [[nodiscard]] bool spilled() const { return count_ == in_heap; }
  void spill();
  void take_spilled(Payload& other);

  union {
    std::array<SlabRange, inline_max> inline_;  // those behind the first count_ refer to nothing
    std::vector<SlabRange> heap_;               // all of them, once there are more
  };
  std::size_t count_ = 0;  // ranges in inline_, or in_heap
  std::size_t size_ = 0;
};

// Fills `out` with the payload's ranges from byte `skip` on, up to the first range in a pipe; returns how
// many entries were used.
std::size_t to_iovecs(const Payload& payload, std::size_t skip, std::span<iovec> out);

}  // namespace braid::io
