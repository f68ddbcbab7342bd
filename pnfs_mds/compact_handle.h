// A file handle in little memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "vfs/types.h"

namespace braid::pnfs_mds {

// Handles may have 64 bytes; those of most file systems have 24 to 28, which fit in here. Immutable.
class CompactHandle {
 public:
  explicit CompactHandle(const vfs::FileHandle& handle) : size_(handle.size) {
    if (size_ > few) rest_ = std::make_unique<Rest>();
    for (std::size_t i = 0; i < size_; ++i) (i < few ? first_[i] : (*rest_)[i - few]) = handle.bytes[i];
  }
  [[nodiscard]] vfs::FileHandle handle() const {
    vfs::FileHandle out;
    out.size = size_;
    std::ranges::copy(first_, out.bytes.begin());
    if (rest_ != nullptr) std::ranges::copy(*rest_, out.bytes.begin() + few);
    return out;
  }

 private:
  static constexpr std::size_t few = 31;
  using Rest = std::array<std::byte, vfs::FileHandle::bytes_max - few>;

  const std::uint8_t size_;
  std::array<std::byte, few> first_{};
  std::unique_ptr<Rest> rest_;  // null: there is none
};

}  // namespace braid::pnfs_mds
