#include "pnfs_mds/living_contents.h"

#include <utility>

#include "base/big_endian.h"
#include "pnfs_mds/state_directory.h"
#include "pnfs_mds/striped_content.h"

namespace braid::pnfs_mds {

LivingContents::LivingContents() : factor_(base::load_be<std::uint64_t>(random_bytes(8), 0) | 1U) {}

std::shared_ptr<StripedContent> LivingContents::found(StripedContent* chain, pnfs::ObjectId object) {
  for (; chain != nullptr; chain = chain->next_living_) {
    if (chain->object() != object) continue;
    // Null: it is at its end, and about to be forgotten.
    if (auto content = chain->weak_from_this().lock()) return content;
  }
  return nullptr;
}

std::shared_ptr<StripedContent> LivingContents::find(pnfs::ObjectId object) const {
  const std::uint64_t hash = this->hash(object);
  return parts_[part_of(hash)].with([&](const Part& part) -> std::shared_ptr<StripedContent> {
    if (part.chains.empty()) return nullptr;
    return found(part.chains[(hash >> 24U) & (part.chains.size() - 1)], object);
  });
}

std::shared_ptr<StripedContent> LivingContents::find_or_make(pnfs::ObjectId object, const Make& make) {
  const std::uint64_t hash = this->hash(object);
  return parts_[part_of(hash)].with([&](Part& part) {
    if (part.count >= part.chains.size()) grow(part);
    StripedContent*& chain = chain_of(part, hash);
    if (auto known = found(chain, object)) return known;
    std::shared_ptr<StripedContent> made = make();
    made->next_living_ = std::exchange(chain, made.get());
    ++part.count;
    return made;
  });
}

void LivingContents::forget(const StripedContent& content) {
  const std::uint64_t hash = this->hash(content.object());
  parts_[part_of(hash)].with([&](Part& part) {
    StripedContent** at = &chain_of(part, hash);
    while (*at != &content) at = &(*at)->next_living_;
    *at = content.next_living_;
    --part.count;
  });
}

void LivingContents::grow(Part& part) const {
  constexpr std::size_t chains_min = 8;
  std::vector<StripedContent*> chains(part.chains.empty() ? chains_min : 2 * part.chains.size());
  std::swap(part.chains, chains);
  for (StripedContent* chain : chains) {
    while (chain != nullptr) {
      StripedContent* const content = std::exchange(chain, chain->next_living_);
      content->next_living_ = std::exchange(chain_of(part, hash(content->object())), content);
    }
  }
}

}  // namespace braid::pnfs_mds
