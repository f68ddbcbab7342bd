#include "pnfs_ds/object_cache.h"

#include <algorithm>

namespace braid::pnfs_ds {

ObjectCache::Got ObjectCache::get(const ObjectKey& key) {
  Got got;
  const std::scoped_lock lock(mutex_);
  const auto [entry, made] = entries_.try_emplace(key);
  if (!made) {
    by_use_.splice(by_use_.begin(), by_use_, entry->second.place);
    entry->second.used_in = round_;
    got.object = entry->second.object;
    return got;
  }
  by_use_.push_front(key);
  entry->second = {std::make_shared<Object>(key), by_use_.begin(), round_};
  got.object = entry->second.object;
  got.object->note_cut_begun(cuts_forgotten_);
  if (changed_.erase(key) != 0 || all_changed_) got.object->changed.store(true, std::memory_order_relaxed);
  if (entries_.size() > objects_max_) forget_surplus(got.forgotten);
  return got;
}

// Whoever uses an object has a reference besides the table's; references are made under this lock alone.
bool ObjectCache::forget(Place& place, std::vector<std::shared_ptr<const OpenedObject>>& forgotten) {
  const auto entry = entries_.find(*place);
  Object& object = *entry->second.object;
  if (entry->second.object.use_count() > 1) return false;
  std::atomic_thread_fence(std::memory_order_acquire);  // what its last user did is done
  remember_change(object);
  cuts_forgotten_ = std::max(cuts_forgotten_, object.cut_begun());
  if (auto opened = object.opened()) forgotten.push_back(std::move(opened));
  entries_.erase(entry);
  place = by_use_.erase(place);
  return true;
}

void ObjectCache::forget_surplus(std::vector<std::shared_ptr<const OpenedObject>>& forgotten) {
  constexpr int looked_at_max = 16;
  auto place = by_use_.end();
  for (int looked = 0; entries_.size() > objects_max_ && looked < looked_at_max; ++looked) {
    if (place == by_use_.begin()) return;
    --place;
    (void)forget(place, forgotten);
  }
}

std::vector<std::shared_ptr<const OpenedObject>> ObjectCache::forget_idle(std::uint32_t rounds) {
  constexpr int looked_at_max = 256;
  std::vector<std::shared_ptr<const OpenedObject>> forgotten;
  const std::scoped_lock lock(mutex_);
  ++round_;
  auto place = by_use_.end();
  for (int looked = 0; looked < looked_at_max && place != by_use_.begin(); ++looked) {
    --place;
    if (entries_.at(*place).used_in + rounds >= round_) break;
    (void)forget(place, forgotten);
  }
  return forgotten;
}

void ObjectCache::remember_change(const Object& object) {
  if (!object.changed.load(std::memory_order_relaxed) || all_changed_) return;
  if (changed_.size() >= changed_max) {
    changed_.clear();
    all_changed_ = true;
    return;
  }
  changed_.insert(object.key);
}

std::vector<ObjectRef> ObjectCache::busy() const {
  std::vector<ObjectRef> out;
  const std::scoped_lock lock(mutex_);
  for (const auto& [key, entry] : entries_)
    if (!entry.object->running.idle()) out.push_back(entry.object);
  return out;
}

std::size_t ObjectCache::size() const {
  const std::scoped_lock lock(mutex_);
  return entries_.size();
}

}  // namespace braid::pnfs_ds
