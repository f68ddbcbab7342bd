#include "pnfs_mds/layouts/live_grants.h"

namespace braid::pnfs_mds::layouts {
namespace {

// Also of the numbers that nobody has taken yet.
pnfs::GrantNumber next_of(const Grants& grants) { return pnfs::GrantNumber(grants.last().value() + 1); }

}  // namespace

void LiveGrants::Hold::narrow(pnfs::GrantNumber number) {
  of_->held_.with([&](auto& held) {
    held.insert(number);
    held.erase(held.find(number_));
  });
  number_ = number;
}

void LiveGrants::Hold::release() {
  if (LiveGrants* const of = std::exchange(of_, nullptr))
    of->held_.with([&](auto& held) { held.erase(held.find(number_)); });
}

// Under the lock, so that lowest() sees either the hold, or no later number than that.
LiveGrants::Hold LiveGrants::begin() {
  return held_.with([&](auto& held) {
    const pnfs::GrantNumber number = next_of(grants_);
    held.insert(number);
    return Hold(*this, number);
  });
}

pnfs::GrantNumber LiveGrants::lowest() const {
  return held_.with([&](const auto& held) { return held.empty() ? next_of(grants_) : *held.begin(); });
}

}  // namespace braid::pnfs_mds::layouts
