// The two keys of registered memory, and memory of a peer. They do not convert: a local key never goes on the
// wire.
#pragma once

#include <cstdint>

#include "base/strong.h"

namespace braid::rdma {

using LocalKey = base::Strong<struct LocalKeyTag, std::uint32_t>;
using RemoteKey = base::Strong<struct RemoteKeyTag, std::uint32_t>;

// Memory of the peer, as it offered it.
struct Segment {
  RemoteKey key;
  std::uint32_t bytes = 0;
  std::uint64_t address = 0;
};

}  // namespace braid::rdma
