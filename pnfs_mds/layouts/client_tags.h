// What data servers know clients by.
#pragma once

#include <cstddef>
#include <map>

#include "base/guarded.h"
#include "nfs4/state/clients/client.h"
#include "pnfs/data_handle.h"
#include "pnfs/keys.h"

namespace braid::pnfs_mds::layouts {

// Remembers them: to make one takes a hash. Thread-safe.
class ClientTags {
 public:
  // So many are remembered.
  static constexpr std::size_t clients_max = 1024;

  explicit ClientTags(const pnfs::ClusterId& cluster) : cluster_(cluster) {}

  // The number of a client is never another one's.
  [[nodiscard]] pnfs::ClientTag of(const nfs4::state::Client& client) const {
    return known_.with([&](Known& known) {
      const auto found = known.find(client.id);
      if (found != known.end()) return found->second;
      if (known.size() >= clients_max) known.clear();
      return known.emplace(client.id, pnfs::client_tag(cluster_, client.intro.owner)).first->second;
    });
  }

 private:
  using Known = std::map<nfs4::clientid4, pnfs::ClientTag>;

  const pnfs::ClusterId cluster_;
  mutable base::Guarded<Known> known_;
};

}  // namespace braid::pnfs_mds::layouts
