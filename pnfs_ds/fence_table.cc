#include "pnfs_ds/fence_table.h"

#include <algorithm>
#include <array>
#include <variant>

namespace braid::pnfs_ds {

std::string_view name_of(Refusal refusal) {
  constexpr std::array<std::string_view, 5> names{"none", "returned", "barred", "fenced", "removed"};
  return names.at(static_cast<std::size_t>(refusal));
}

Refusal FenceTable::check(const pnfs::DataHandle& handle) const {
  if (handle.grant.value() < lowest_.load(std::memory_order_acquire)) return Refusal::returned;
  if (!any_.load(std::memory_order_acquire)) return Refusal::none;
  const std::shared_lock lock(mutex_);
  if (const auto barred = clients_.find(handle.client);
      barred != clients_.end() && handle.grant <= barred->second)
    return Refusal::barred;
  const auto object = objects_.find({handle.object, handle.index});
  if (object == objects_.end()) return Refusal::none;
  if (object->second.removed) return Refusal::removed;
  return is_fenced(object->second, handle) ? Refusal::fenced : Refusal::none;
}

// A handle for reading may tell of a size that the file does not have any more.
bool FenceTable::is_fenced(const ObjectFence& fence, const pnfs::DataHandle& handle) {
  if (handle.epoch >= fence.epoch) return false;
  const bool kept = fence.kept && handle.client == fence.kept->client && handle.grant >= fence.kept->from &&
                    handle.iomode == pnfs::Iomode::read_write;
  return !kept;
}

bool FenceTable::is_removed(const ObjectKey& key) const {
  if (!any_.load(std::memory_order_acquire)) return false;
  const std::shared_lock lock(mutex_);
  const auto object = objects_.find(key);
  return object != objects_.end() && object->second.removed;
}

bool FenceTable::in_force(const FenceRecord& record) const {
  const std::shared_lock lock(mutex_);
  return std::visit([this](const auto& one) { return this->has(one); }, record);
}

// No handle has an epoch before the first.
bool FenceTable::has(const EpochFence& fence) const {
  constexpr pnfs::Epoch first(1);
  if (fence.epoch <= first) return true;
  const auto known = objects_.find(fence.of);
  return known != objects_.end() && (known->second.removed || known->second.epoch >= fence.epoch);
}

bool FenceTable::has(const RemovedObject& removed) const {
  const auto known = objects_.find(removed.of);
  return known != objects_.end() && known->second.removed && known->second.last >= removed.last;
}

bool FenceTable::has(const BarredClient& barred) const {
  const auto known = clients_.find(barred.client);
  return known != clients_.end() && known->second >= barred.last;
}

void FenceTable::add(const FenceRecord& record) {
  const std::scoped_lock lock(mutex_);
  std::visit([this](const auto& one) { add_one(one); }, record);
  any_.store(!objects_.empty() || !clients_.empty(), std::memory_order_release);
}

void FenceTable::add_one(const EpochFence& fence) {
  if (fence.last.value() < lowest_.load(std::memory_order_relaxed)) return;
  ObjectFence& known = objects_[fence.of];
  if (fence.epoch > known.epoch) known.kept = fence.kept;
  known.epoch = std::max(known.epoch, fence.epoch);
  known.last = std::max(known.last, fence.last);
}

void FenceTable::add_one(const RemovedObject& removed) {
  if (removed.last.value() < lowest_.load(std::memory_order_relaxed)) return;
  ObjectFence& known = objects_[removed.of];
  known.removed = true;
  known.last = std::max(known.last, removed.last);
}

void FenceTable::add_one(const BarredClient& barred) {
  if (barred.last.value() < lowest_.load(std::memory_order_relaxed)) return;
  pnfs::GrantNumber& last = clients_[barred.client];
  last = std::max(last, barred.last);
}

void FenceTable::add_one(const LowestGrant& lowest) {
  if (lowest.grant.value() <= lowest_.load(std::memory_order_relaxed)) return;
  lowest_.store(lowest.grant.value(), std::memory_order_release);
  forget_needless();
}

// Every handle that these refuse is refused for its grant number now.
void FenceTable::forget_needless() {
  const pnfs::GrantNumber lowest(lowest_.load(std::memory_order_relaxed));
  std::erase_if(objects_, [&](const auto& one) { return one.second.last < lowest; });
  std::erase_if(clients_, [&](const auto& one) { return one.second < lowest; });
}

std::vector<FenceRecord> FenceTable::records() const {
  const std::shared_lock lock(mutex_);
  std::vector<FenceRecord> out;
  const pnfs::GrantNumber lowest(lowest_.load(std::memory_order_relaxed));
  if (lowest != pnfs::GrantNumber()) out.emplace_back(LowestGrant{lowest});
  for (const auto& [key, fence] : objects_) {
    if (fence.removed)
      out.emplace_back(RemovedObject{key, fence.last});
    else
      out.emplace_back(EpochFence{key, fence.epoch, fence.last, fence.kept});
  }
  for (const auto& [client, last] : clients_) out.emplace_back(BarredClient{client, last});
  return out;
}

std::size_t FenceTable::size() const {
  const std::shared_lock lock(mutex_);
  return objects_.size() + clients_.size() + (lowest_.load(std::memory_order_relaxed) != 0 ? 1 : 0);
}

}  // namespace braid::pnfs_ds
