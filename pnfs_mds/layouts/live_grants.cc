#include "pnfs_mds/layouts/live_grants.h"

#include <utility>

namespace braid::pnfs_mds::layouts {
namespace {

// Also of the numbers that nobody has taken yet.
pnfs::GrantNumber next_of(const Grants& grants) { return pnfs::GrantNumber(grants.last().value() + 1); }

}  // namespace

void LiveGrants::List::put(Hold& hold, Hold* before) {
  hold.previous_ = before;
  hold.next_ = std::exchange(before == nullptr ? first : before->next_, &hold);
  (hold.next_ == nullptr ? last : hold.next_->previous_) = &hold;
}

void LiveGrants::List::take_out(const Hold& hold) {
  (hold.previous_ == nullptr ? first : hold.previous_->next_) = hold.next_;
  (hold.next_ == nullptr ? last : hold.next_->previous_) = hold.previous_;
}

// The number is looked at under the lock, so that lowest() sees either the hold, or no later number than
// that.
LiveGrants::Hold::Hold(LiveGrants& of) : of_(&of) {
  of.held_.with([&](List& held) {
    number_ = next_of(of.grants_);
    held.put(*this, held.last);
  });
}

void LiveGrants::Hold::take_from(Hold& other) noexcept {
  number_ = other.number_;
  of_ = std::exchange(other.of_, nullptr);
  if (of_ == nullptr) return;
  of_->held_.with([&](List& held) {
    held.put(*this, &other);
    held.take_out(other);
  });
}

void LiveGrants::Hold::narrow(pnfs::GrantNumber number) {
  of_->held_.with([&](List& held) {
    number_ = number;
    Hold* before = this;
    while (before->next_ != nullptr && before->next_->number_ < number) before = before->next_;
    if (before == this) return;
    held.take_out(*this);
    held.put(*this, before);
  });
}

void LiveGrants::Hold::release() {
  if (LiveGrants* const of = std::exchange(of_, nullptr))
    of->held_.with([this](List& held) { held.take_out(*this); });
}

pnfs::GrantNumber LiveGrants::lowest() const {
  return held_.with(
      [&](const List& held) { return held.first == nullptr ? next_of(grants_) : held.first->number_; });
}

}  // namespace braid::pnfs_mds::layouts
