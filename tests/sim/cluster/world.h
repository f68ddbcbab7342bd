// What all parts of one simulation of a cluster share.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "base/bytes.h"
#include "nfs4/nfs4.x.h"
#include "tests/sim/cluster/oracle.h"
#include "tests/sim/cluster/plant.h"
#include "tests/sim/machine.h"
#include "tests/sim/network.h"
#include "tests/sim/scheduler.h"
#include "tests/sim/trace.h"

namespace braid::sim::cluster {

struct World {
  Scheduler& scheduler;
  Oracle& oracle;
  Trace& trace;
  Network& metadata;
  std::vector<Network*> data;
  Plant plant = Plant::none;
  // From when on a data server that is cut off from the metadata server may serve nobody; the end of time:
  // it is not.
  std::vector<base::TimePoint> contact_ends;
  // Whether this data server, if it is there, refuses the handle because the object has a newer epoch.
  std::function<bool(std::uint32_t server, base::BytesView handle)> is_fenced;
  std::map<nfs4::clientid4, std::uint32_t> holders{};  // the client that was given this clientid
  std::uint32_t metadata_life = 0;                     // of the process that there is, or was last
  std::uint32_t names = 2;                             // f0, f1, ...
  std::uint32_t cells = 8;
  std::uint64_t change_percent = 50;  // of what clients do: what changes bytes
};

}  // namespace braid::sim::cluster
