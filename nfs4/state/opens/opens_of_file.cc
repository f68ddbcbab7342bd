#include "nfs4/state/opens/opens_of_file.h"

#include <algorithm>

#include "nfs4/state/opens/open_state.h"

namespace braid::nfs4::state {

OpensOfFile::OpensOfFile() = default;
OpensOfFile::~OpensOfFile() = default;

void OpensOfFile::put(Index& index, OpenState& open) {
  index.by_owner.emplace(open.owner, &open);
  ++index.of_client[open.client->id];
}

void OpensOfFile::add(OpenState& open) {
  open.at_file = all_.size();
  all_.push_back(&open);
  shares_.add(open.share);
  if (index_ == nullptr && all_.size() > few) {
    index_ = std::make_unique<Index>();
    for (OpenState* const one : all_) put(*index_, *one);
  } else if (index_ != nullptr) {
    put(*index_, open);
  }
}

bool OpensOfFile::remove(OpenState& open) {
  all_.back()->at_file = open.at_file;
  all_.erase_by_last(open.at_file);
  shares_.remove(open.share);
  if (index_ == nullptr)
    return std::ranges::none_of(all_, [&](const OpenState* one) { return one->client == open.client; });
  index_->by_owner.erase(open.owner);
  const auto own = index_->of_client.find(open.client->id);
  const bool last = --own->second == 0;
  if (last) index_->of_client.erase(own);
  if (all_.empty()) index_.reset();
  return last;
}

void OpensOfFile::set_share(OpenState& open, const Share& share) {
  shares_.remove(open.share);
  open.share = share;
  shares_.add(share);
}

OpenState* OpensOfFile::of(const OpenOwner& owner) const {
  if (index_ != nullptr) {
    const auto found = index_->by_owner.find(&owner);
    return found == index_->by_owner.end() ? nullptr : found->second;
  }
  const auto found = std::ranges::find_if(all_, [&](const OpenState* one) { return one->owner == &owner; });
  return found == all_.end() ? nullptr : *found;
}

}  // namespace braid::nfs4::state
