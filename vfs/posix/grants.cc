#include "vfs/posix/grants.h"

#include <algorithm>

namespace braid::vfs::posix {

bool Grants::fits(const Grant& grant, const Attributes& now, base::TimePoint time) {
  if (grant.mode != now.mode || grant.uid != now.uid || grant.gid != now.gid) return false;
  return (grant.settled && grant.ctime == now.ctime) || time - grant.checked < trust;
}

// There is one of each who at most.
Rights Grants::held(std::uint64_t who, Rights rights, const Attributes& now, base::TimePoint time) const {
  for (const Grant& grant : grants_)
    if (grant.who == who && grant.rights != 0) return fits(grant, now, time) ? grant.rights & rights : 0;
  return 0;
}

void Grants::remember(std::uint64_t who, Rights rights, const Attributes& now, base::TimePoint time,
                      base::WallTime wall) {
  auto grant = std::ranges::find_if(grants_, [&](const Grant& g) { return g.rights != 0 && g.who == who; });
  if (grant == grants_.end()) {
    grant = grants_.begin() + next_;
    next_ = static_cast<std::uint8_t>((next_ + 1U) % grants_.size());
    *grant = {};
  }
  const base::Duration age = wall.time_since_epoch() - std::chrono::seconds(now.ctime.seconds) -
                             std::chrono::nanoseconds(now.ctime.nanoseconds);
  Grant fresh{who, now.ctime, now.mode, now.uid, now.gid, rights, time, age > tick};
  // Rights found a moment earlier join, and all together are as trustworthy as the oldest of them.
  if (grant->rights != 0 && fits(*grant, now, time) && grant->ctime == now.ctime &&
      time - grant->checked < trust) {
    fresh.rights |= grant->rights;
    fresh.checked = grant->checked;
    fresh.settled = fresh.settled && grant->settled;
  }
  *grant = fresh;
}

}  // namespace braid::vfs::posix
