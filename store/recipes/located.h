// Where the bytes of a recipe lie, for who reads them without the store.
#pragma once

#include <cstdint>

#include "store/recipes/recipe.h"
#include "vfs/content.h"

namespace braid::store {

// Appends where bytes [begin, end) are, holes as zeros. False: what it takes to know that is not in memory,
// or some chunk has not been verified since the store was opened; `where` is worth nothing then. No I/O.
bool locate_recipe(ChunkStore& chunks, const Node& top, std::uint64_t begin, std::uint64_t end,
                   vfs::Located& where);

}  // namespace braid::store
