// The count of a cache's descriptors.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

namespace braid::vfs::posix {

// Descriptors that are open now. Thread-safe.
struct DescriptorCount {
  explicit DescriptorCount(std::size_t descriptors_max) : max(descriptors_max) {}
  const std::size_t max;
  std::atomic<std::size_t> all{0};
  std::atomic<std::size_t> held{0};  // those of opens and locks, which cannot be closed to make room
};

// One descriptor in the count, from birth to death.
class DescriptorSlot {
 public:
  explicit DescriptorSlot(std::shared_ptr<DescriptorCount> count, bool held = false)
      : count_(std::move(count)), held_(held) {
    count_->all.fetch_add(1, std::memory_order_relaxed);
    if (held_) count_->held.fetch_add(1, std::memory_order_relaxed);
  }
  DescriptorSlot(DescriptorSlot&& other) noexcept : count_(std::move(other.count_)), held_(other.held_) {}
  DescriptorSlot& operator=(DescriptorSlot&& other) noexcept {
    std::swap(count_, other.count_);
    std::swap(held_, other.held_);
    return *this;
  }
  DescriptorSlot(const DescriptorSlot&) = delete;
  DescriptorSlot& operator=(const DescriptorSlot&) = delete;
  ~DescriptorSlot() {
    if (count_ == nullptr) return;
    count_->all.fetch_sub(1, std::memory_order_relaxed);
    if (held_) count_->held.fetch_sub(1, std::memory_order_relaxed);
  }

  // Another one of the same count, for what stays open when the owner of this one is closed: not more than a
  // quarter may, and none when there is no room.
  [[nodiscard]] bool room_beside(std::size_t such) const {
    return count_->all.load(std::memory_order_relaxed) < count_->max && such < count_->max / 4;
  }
  [[nodiscard]] DescriptorSlot beside() const { return DescriptorSlot(count_); }

 private:
  std::shared_ptr<DescriptorCount> count_;
  bool held_;
};

}  // namespace braid::vfs::posix
