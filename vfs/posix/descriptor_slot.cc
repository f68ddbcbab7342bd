#include "vfs/posix/descriptor_slot.h"

#include <mutex>

#include "base/log.h"
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

void DescriptorPool::note_short(base::TimePoint now) {
  const std::uint64_t count = shortages_.fetch_add(1, std::memory_order_relaxed) + 1;
  if (!lines_.due(now)) return;
  base::log_event(
      base::Level::warning, "descriptors_short",
      "{} of {} descriptors for files are open, {} of them cannot be given back: what needs one has to "
      "wait, {} times until now",
      all.load(std::memory_order_relaxed), max, held.load(std::memory_order_relaxed), count);
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
