#include "vfs/posix/descriptor_slot.h"

#include <mutex>

#include "vfs/posix/cache.h"

namespace braid::vfs::posix {

void DescriptorPool::add(FileCache& cache) {
  const std::unique_lock lock(mutex_);
  caches_.push_back(&cache);
}

void DescriptorPool::remove(FileCache& cache) {
  const std::unique_lock lock(mutex_);
  std::erase(caches_, &cache);
}

bool DescriptorPool::make_room() {
  FileCache::Evicted evicted;  // closed after the lock is released
  const std::shared_lock lock(mutex_);
  const std::size_t first = next_.fetch_add(1, std::memory_order_relaxed);
  for (std::size_t i = 0; i < caches_.size() && !evicted; ++i)
    evicted = caches_[(first + i) % caches_.size()]->evict();
  return static_cast<bool>(evicted);
}

}  // namespace braid::vfs::posix
