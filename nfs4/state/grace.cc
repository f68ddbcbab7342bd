#include "nfs4/state/grace.h"

#include <utility>

namespace braid::nfs4::state {

using enum nfsstat4;

KnownClient known_as(const Client& client) {
  return {.minor_version = client.minor_version() == 0 ? 0U : 1U, .owner = client.intro.owner};
}

Grace::Grace(std::vector<KnownClient> known, base::TimePoint now, base::Duration length)
    : known_(std::make_move_iterator(known.begin()), std::make_move_iterator(known.end())),
      waiting_(known_),
      until_(now + length),
      active_(!known_.empty()) {}

base::Result<void, nfsstat4> Grace::admit_reclaim(const Client& client) const {
  if (!active_ || client.reclaim_complete() || !known_.contains(known_as(client)))
    return base::fail(NFS4ERR_NO_GRACE);
  return {};
}

base::Result<void, nfsstat4> Grace::admit_new(const Client& client) const {
  if (active_) return base::fail(NFS4ERR_GRACE);
  if (client.minor_version() > 0 && !client.reclaim_complete()) return base::fail(NFS4ERR_GRACE);
  return {};
}

void Grace::completed(const Client& client) { waiting_.erase(known_as(client)); }

void Grace::forget(const Client& client) {
  const KnownClient name = known_as(client);
  known_.erase(name);
  waiting_.erase(name);
}

bool Grace::due(base::TimePoint now) const { return active_ && (waiting_.empty() || now >= until_); }

void Grace::end() {
  active_ = false;
  known_.clear();
  waiting_.clear();
}

}  // namespace braid::nfs4::state
