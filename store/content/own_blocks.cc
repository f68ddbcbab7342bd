#include "store/content/own_blocks.h"

namespace braid::store {

void OwnBlocks::add(std::uint64_t begin, std::uint64_t end) {
  const std::uint64_t last = end / block_bytes;
  const std::scoped_lock lock(mutex_);
  for (std::uint64_t block = begin / block_bytes + (begin % block_bytes != 0 ? 1 : 0); block < last;
       ++block) {
    const std::uint64_t number = block / blocks_per_group;
    auto group = groups_.find(number);
    if (group == groups_.end()) {
      if (all_groups_.fetch_add(1, std::memory_order_relaxed) >= groups_max) {
        all_groups_.fetch_sub(1, std::memory_order_relaxed);
        return;
      }
      group = groups_.try_emplace(number).first;
    }
    group->second.set(block % blocks_per_group);
  }
}

bool OwnBlocks::has(std::uint64_t begin, std::uint64_t end) const {
  const std::scoped_lock lock(mutex_);
  const Group* group = nullptr;
  for (std::uint64_t block = begin / block_bytes; block * block_bytes < end; ++block) {
    if (group == nullptr || block % blocks_per_group == 0) {
      const auto found = groups_.find(block / blocks_per_group);
      if (found == groups_.end()) return false;
      group = &found->second;
    }
    if (!group->test(block % blocks_per_group)) return false;
  }
  return true;
}

void OwnBlocks::clear() {
  const std::scoped_lock lock(mutex_);
  all_groups_.fetch_sub(groups_.size(), std::memory_order_relaxed);
  groups_.clear();
}

}  // namespace braid::store
