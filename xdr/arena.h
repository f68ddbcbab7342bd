// Memory for what decoding has to copy (arrays, text that straddles two slabs): freed all at once with the
// call.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <vector>

namespace braid::xdr {

// Belongs to one call. The first 512 bytes cost no allocation. Holds at most `bytes_max` bytes.
class Arena {
 public:
  explicit Arena(std::size_t bytes_max = 4 * 1024 * 1024) : bytes_left_(bytes_max) {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // `count` value-initialised objects, or an empty span of count 0 when the limit is reached (then `ok` is
  // false).
  template <class T>
  std::span<T> make(std::size_t count, bool& ok) {
    static_assert(std::is_trivially_destructible_v<T>, "the arena runs no destructors");
    ok = true;
    if (count == 0) return {};
    void* memory = count > bytes_left_ / sizeof(T) ? nullptr : allocate(count * sizeof(T), alignof(T));
    if (memory == nullptr) {
      ok = false;
      return {};
    }
    T* first = static_cast<T*>(memory);
    std::uninitialized_value_construct_n(first, count);
    return {first, count};
  }

 private:
  void* allocate(std::size_t bytes, std::size_t alignment) {
    std::size_t start = (used_ + alignment - 1) & ~(alignment - 1);
    bytes_left_ -= bytes;
    if (start + bytes <= inline_.size()) {
      used_ = start + bytes;
      return inline_.data() + start;
    }
    blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(bytes));
    return blocks_.back().get();
  }

  alignas(std::max_align_t) std::array<std::byte, 512> inline_;
  std::size_t used_ = 0;
  std::size_t bytes_left_;
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
};

}  // namespace braid::xdr
