#include "nfs4/state/clients/grace.h"

#include <algorithm>
#include <iterator>
#include <ranges>
#include <utility>

namespace braid::nfs4::state {

using enum nfsstat4;

namespace {

// Who has reclaimed something and asks for nothing more during this time is done, or gone.
base::Duration pause_max(base::Duration length) {
  return std::min<base::Duration>(length / 10, std::chrono::seconds(5));
}

}  // namespace

KnownClient known_as(const Client& client) {
  return {.minor_version = client.minor_version() == 0 ? 0U : 1U,
          .owner = client.intro.owner,
          .verifier = client.intro.verifier};
}

Grace::Grace(std::vector<KnownClient> known, base::TimePoint now, base::Duration length)
    : known_(std::make_move_iterator(known.begin()), std::make_move_iterator(known.end())),
      waiting_(known_),
      length_(length),
      prolonged_max_(now + 2 * length),
      until_(now + length),
      active_(!known_.empty()) {
  // What held nothing has nothing to come back for.
  std::erase_if(waiting_, [](const KnownClient& one) { return one.held == Held{}; });
}

base::Result<void, nfsstat4> Grace::admit_reclaim(const Client& client) const {
  if (!active_ || client.reclaim_complete() || !known_.contains(known_as(client)))
    return base::fail(NFS4ERR_NO_GRACE);
  return {};
}

void Grace::note_reclaim(const Client& client, base::TimePoint now) {
  until_ = std::clamp(now + pause_max(length_), until_, prolonged_max_);
  const auto found = waiting_.find(known_as(client));
  if (found != waiting_.end() && found->held)
    reclaiming_.insert_or_assign(*found, Reclaiming{.client = client.id, .last = now});
}

std::vector<Grace::Paused> Grace::take_paused(base::TimePoint now) {
  std::vector<Paused> out;
  for (auto& [name, one] : reclaiming_) {
    if (one.looked_at || now < one.last + pause_max(length_)) continue;
    one.looked_at = true;
    out.push_back({name, one.client, *name.held});
  }
  return out;
}

base::Result<void, nfsstat4> Grace::admit_new(const Client& client) const {
  if (active_) return base::fail(NFS4ERR_GRACE);
  if (client.minor_version() > 0 && !client.reclaim_complete()) return base::fail(NFS4ERR_GRACE);
  return {};
}

void Grace::came_back(const Client& client) {
  const auto found = waiting_.find(known_as(client));
  if (found == waiting_.end() || !found->verifier || *found->verifier == client.intro.verifier) return;
  reclaiming_.erase(*found);
  waiting_.erase(found);
}

void Grace::completed(const KnownClient& name) {
  waiting_.erase(name);
  reclaiming_.erase(name);
}

void Grace::forget(const Client& client) {
  const KnownClient name = known_as(client);
  known_.erase(name);
  completed(name);
}

bool Grace::due(base::TimePoint now) const { return active_ && (waiting_.empty() || now >= until_); }

std::vector<KnownClient> Grace::waiting_for(std::size_t most) const {
  std::vector<KnownClient> some;
  std::ranges::copy(waiting_ | std::views::take(most), std::back_inserter(some));
  return some;
}

void Grace::end() {
  active_ = false;
  known_.clear();
  waiting_.clear();
  reclaiming_.clear();
}

}  // namespace braid::nfs4::state
