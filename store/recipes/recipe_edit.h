// Recipes that come of others: only the nodes on the way to a change are made anew.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "base/result.h"
#include "store/chunks/chunk_store.h"
#include "store/chunks/node.h"
#include "store/medium/medium.h"
#include "store/recipes/recipe.h"

namespace braid::store {

// The same recipe with a hole at [begin, end). Nodes that have nothing left are gone, and what is behind the
// last byte that is left counts for nothing, if `end` is behind it.
base::Result<Node> without_range(ChunkStore& chunks, const Node& top, std::uint64_t begin, std::uint64_t end);

// A recipe, and how many of its bytes are in chunks.
struct RevisedRecipe {
  Node top{};
  std::uint64_t mapped = 0;
};
// The same recipe with something else in place of these ranges, which are in order and apart, and without
// what is behind `size`. `add` adds what replaces the one with that index.
using AddReplacement = std::function<base::Result<void>(std::size_t index, RecipeBuilder& recipe)>;
base::Result<RevisedRecipe> with_replaced(ChunkStore& chunks, const RevisedRecipe& old,
                                          std::span<const Extent> ranges, std::uint64_t size,
                                          const AddReplacement& add);

// The same recipe with bytes [from.begin, from.end) of another one at `to`, and without what is behind
// `size`.
base::Result<RevisedRecipe> with_spliced(ChunkStore& chunks, const RevisedRecipe& old,
                                         const RevisedRecipe& other, const Extent& from, std::uint64_t to,
                                         std::uint64_t size);

}  // namespace braid::store
