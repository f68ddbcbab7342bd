// For whom work is done, as far as what it uses up is shared between peers.
#pragma once

#include <cstdint>

#include "base/strong.h"

namespace braid::io {

struct PeerIdTag;
// A client's address, or its /64 network of IPv6; 0: the server itself, or many at once.
using PeerId = base::Strong<PeerIdTag, std::uint64_t>;

}  // namespace braid::io
