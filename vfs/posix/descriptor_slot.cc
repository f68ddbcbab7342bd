#include "vfs/posix/descriptor_slot.h"

#include <fmt/format.h>

#include <mutex>
#include <string>

#include "base/log.h"
#include "vfs/posix/cache.h"

namespace braid::vfs::posix {
namespace {

constexpr std::size_t nameless_always = 16;
constexpr std::size_t descriptors_of_nameless = 2;

// "192.0.2.1", "2001:db8:0:0::/64"; "server" for its own work.
std::string text_of(io::PeerId peer) {
  const std::uint64_t number = peer.value();
  const auto part = [number](unsigned shift, std::uint64_t mask) { return number >> shift & mask; };
  if (number == 0) return "server";
  if (number >> 32U == 0xffff)
    return fmt::format("{}.{}.{}.{}", part(24, 0xff), part(16, 0xff), part(8, 0xff), part(0, 0xff));
  return fmt::format("{:x}:{:x}:{:x}:{:x}::/64", part(48, 0xffff), part(32, 0xffff), part(16, 0xffff),
                     part(0, 0xffff));
}

}  // namespace

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

bool DescriptorPool::over_nameless_share(io::PeerId peer, std::size_t left) const {
  return nameless_.with([&](const auto& nameless) {
    const auto found = nameless.find(peer);
    return found != nameless.end() && found->second >= nameless_always &&
           descriptors_of_nameless * found->second >= left / 2;
  });
}

void DescriptorPool::add_nameless(io::PeerId peer) {
  nameless_.with([&](auto& nameless) { ++nameless[peer]; });
}

void DescriptorPool::remove_nameless(io::PeerId peer) {
  nameless_.with([&](auto& nameless) {
    const auto found = nameless.find(peer);
    if (--found->second == 0) nameless.erase(found);
  });
}

void DescriptorPool::note_nameless_refused(io::PeerId peer, base::TimePoint now) {
  if (!nameless_lines_.due(now)) return;
  base::log_event(
      base::Level::warning, "nameless_files_refused",
      "peer={}: {} of {} descriptors for files cannot be given back: the last name of a file that "
      "is open is not removed now",
      text_of(peer), held.load(std::memory_order_relaxed), max);
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
