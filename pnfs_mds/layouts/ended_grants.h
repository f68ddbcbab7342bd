// Which of its grants a client may have given back.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>

#include "nfs4/nfs4.x.h"
#include "pnfs/data_handle.h"

namespace braid::pnfs_mds::layouts {

// Of each client the newest grant of its layouts that have ended; when these are too many clients, the newest
// of all of them. Belongs to whoever has the lock on all states.
class EndedGrants {
 public:
  static constexpr std::size_t clients_max = 1024;

  void note(nfs4::clientid4 client, pnfs::GrantNumber newest) {
    if (newest <= of_all_) return;
    pnfs::GrantNumber& known = by_client_[client];
    known = std::max(known, newest);
    if (by_client_.size() <= clients_max) return;
    for (const auto& [one, grant] : by_client_) of_all_ = std::max(of_all_, grant);
    by_client_.clear();
  }
  // Nothing that has ended has this number or a larger one.
  [[nodiscard]] bool all_before(nfs4::clientid4 client, pnfs::GrantNumber grant) const {
    const auto known = by_client_.find(client);
    return grant > of_all_ && (known == by_client_.end() || grant > known->second);
  }

 private:
  std::map<nfs4::clientid4, pnfs::GrantNumber> by_client_;
  pnfs::GrantNumber of_all_;
};

}  // namespace braid::pnfs_mds::layouts
