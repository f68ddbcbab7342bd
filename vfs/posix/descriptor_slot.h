// The descriptors of all exports of a process: how many there are, and who gives one up when they run short.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/guarded.h"
#include "base/log_limiter.h"
#include "io/peer_id.h"

namespace braid::vfs::posix {

class FileCache;

// Thread-safe. Caches draw on it as long as they live.
class DescriptorPool {
 public:
  explicit DescriptorPool(std::size_t descriptors_max) : max(descriptors_max) {}
  DescriptorPool(const DescriptorPool&) = delete;
  DescriptorPool& operator=(const DescriptorPool&) = delete;

  void add(FileCache& cache);
  void remove(FileCache& cache);
  [[nodiscard]] bool full() const { return all.load(std::memory_order_relaxed) >= max; }
  // Closes a descriptor that nobody uses, of each cache in turn. False: all are in use.
  bool make_room();

  const std::size_t max;
  std::atomic<std::size_t> all{0};   // open now
  std::atomic<std::size_t> held{0};  // of them those that cannot be closed to make room

  // None could be had: counts it, and logs it once a minute.
  void note_short(base::TimePoint now);
  [[nodiscard]] std::uint64_t shortages() const { return shortages_.load(std::memory_order_relaxed); }

  // Open files whose last name a peer has removed keep their descriptors. Whether it has its share of them:
  // half as many as are left for all, where `left` descriptors may be kept; some it may have in any case.
  [[nodiscard]] bool over_nameless_share(io::PeerId peer, std::size_t left) const;
  void add_nameless(io::PeerId peer);
  void remove_nameless(io::PeerId peer);
  // One was not given: logs it once a minute.
  void note_nameless_refused(io::PeerId peer, base::TimePoint now);

 private:
  std::shared_mutex mutex_;
  std::vector<FileCache*> caches_;
  std::atomic<std::size_t> next_{0};
  std::atomic<std::uint64_t> shortages_{0};
  base::LogLimiter lines_;
  base::Guarded<std::map<io::PeerId, std::size_t>> nameless_;  // files, of peers that have some
  base::LogLimiter nameless_lines_;
};

// The part of a pool that one cache has. Thread-safe.
struct DescriptorCount {
  explicit DescriptorCount(std::shared_ptr<DescriptorPool> its_pool) : pool(std::move(its_pool)) {}
  const std::shared_ptr<DescriptorPool> pool;
  std::atomic<std::size_t> own{0};
};

// So many descriptors, counted elsewhere, that cannot be closed to make room, from birth to death.
class HeldDescriptors {
 public:
  HeldDescriptors(std::shared_ptr<DescriptorCount> count, std::uint32_t held)
      : count_(std::move(count)), held_(held) {
    count_->pool->held.fetch_add(held_, std::memory_order_relaxed);
  }
  HeldDescriptors(HeldDescriptors&& other) noexcept : count_(std::move(other.count_)), held_(other.held_) {}
  HeldDescriptors& operator=(HeldDescriptors&& other) noexcept {
    std::swap(count_, other.count_);
    std::swap(held_, other.held_);
    return *this;
  }
  HeldDescriptors(const HeldDescriptors&) = delete;
  HeldDescriptors& operator=(const HeldDescriptors&) = delete;
  ~HeldDescriptors() {
    if (count_ != nullptr) count_->pool->held.fetch_sub(held_, std::memory_order_relaxed);
  }

 private:
  std::shared_ptr<DescriptorCount> count_;
  std::uint32_t held_;
};

// What an open file without a name keeps, as long as it is open.
class NamelessDescriptors {
 public:
  NamelessDescriptors(std::shared_ptr<DescriptorCount> count, std::uint32_t held, io::PeerId peer)
      : pool_(count->pool), peer_(peer), held_(std::move(count), held) {
    pool_->add_nameless(peer_);
  }
  ~NamelessDescriptors() { pool_->remove_nameless(peer_); }
  NamelessDescriptors(const NamelessDescriptors&) = delete;
  NamelessDescriptors& operator=(const NamelessDescriptors&) = delete;

 private:
  const std::shared_ptr<DescriptorPool> pool_;
  const io::PeerId peer_;
  const HeldDescriptors held_;
};

// One descriptor in the count, from birth to death; and how many cannot be closed to make room because of it.
class DescriptorSlot {
 public:
  explicit DescriptorSlot(std::shared_ptr<DescriptorCount> count, std::uint32_t held = 0)
      : count_(std::move(count)), held_(held) {
    count_->own.fetch_add(1, std::memory_order_relaxed);
    count_->pool->all.fetch_add(1, std::memory_order_relaxed);
    count_->pool->held.fetch_add(held_, std::memory_order_relaxed);
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
    count_->own.fetch_sub(1, std::memory_order_relaxed);
    count_->pool->all.fetch_sub(1, std::memory_order_relaxed);
    count_->pool->held.fetch_sub(held_, std::memory_order_relaxed);
  }

  // Another one of the same count, for what stays open when the owner of this one is closed: not more than a
  // quarter may, and none when there is no room.
  [[nodiscard]] bool room_beside(std::size_t such) const {
    return !count_->pool->full() && such < count_->pool->max / 4;
  }
  [[nodiscard]] DescriptorSlot beside() const { return DescriptorSlot(count_); }

 private:
  std::shared_ptr<DescriptorCount> count_;
  std::uint32_t held_;
};

}  // namespace braid::vfs::posix
