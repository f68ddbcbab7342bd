// Recipes that come of others: only the nodes on the way to a change are made anew.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "store/chunk_store.h"
#include "store/node.h"

namespace braid::store {

// The same recipe with a hole at [begin, end). Nodes that have nothing left are gone, and what is behind the
// last byte that is left counts for nothing, if `end` is behind it.
base::Result<Node> without_range(ChunkStore& chunks, const Node& top, std::uint64_t begin, std::uint64_t end);

}  // namespace braid::store
