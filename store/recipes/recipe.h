// Recipes: trees of nodes that say which chunks the bytes of a file are in.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/result.h"
#include "store/chunks/chunk_store.h"
#include "store/chunks/node.h"
#include "store/medium/medium.h"
#include "store/recipes/record.h"

namespace braid::store {

// Makes one from the front to the back, in memory for a node of each height. Nodes are cut by what is in them
// too, so files that have much in common share nodes.
class RecipeBuilder {
 public:
  explicit RecipeBuilder(ChunkStore& chunks) : chunks_(chunks), levels_(1) {}

  // Behind everything that was added before; kind, slice and chunk as in the entry of a leaf.
  base::Result<void> add(NodeEntry entry);
  // What another recipe says of bytes [begin, end), which are at `to` here, behind everything that was added
  // before. Its nodes that lie within them are taken as they are, unread, where one begins here, too.
  base::Result<void> keep(const Node& top, std::uint64_t begin, std::uint64_t end, std::uint64_t to);
  base::Result<void> keep(const Node& top, std::uint64_t begin, std::uint64_t end) {
    return keep(top, begin, end, begin);
  }
  // The top node; nothing is added after that.
  base::Result<Node> finish();
  // Bytes of what add() was given that are in chunks.
  [[nodiscard]] std::uint64_t mapped() const { return mapped_; }

 private:
  struct Level {
    std::uint64_t begin = 0;  // of the node that grows, in the file
    std::uint64_t end = 0;
    std::vector<NodeEntry> entries{};
  };
  base::Result<void> add_to(std::size_t height, const NodeEntry& entry);
  // What is kept of another recipe, and how much further it lies here, modulo 2^64.
  struct Kept {
    std::uint64_t begin = 0, end = 0;
    std::uint64_t shift = 0;
  };
  base::Result<void> keep_some(const Kept& kept, const Node& node, std::uint64_t base, bool at_the_end);
  [[nodiscard]] bool begins_node(std::size_t height) const;
  base::Result<void> close(std::size_t height);
  Node node_of(std::size_t height) const;

  ChunkStore& chunks_;
  std::vector<Level> levels_;
  std::uint64_t mapped_ = 0;
};

// What bytes [offset, offset + length) of a file are, as far as its recipe says. Offsets are the file's.
struct RecipePiece {
  std::uint64_t offset = 0, length = 0;
  EntryKind kind = EntryKind::chunk;  // or plain
  std::uint32_t slice = 0;
  ChunkRef chunk{};
};

// Calls take() for each piece of [begin, end), in order; what lies between them is holes. It stops at the
// first error: its own, of take(), or EIO of a node that cannot be read.
using TakePiece = std::function<base::Result<void>(const RecipePiece& piece)>;
base::Result<void> walk_recipe(ChunkStore& chunks, const Node& top, std::uint64_t begin, std::uint64_t end,
                               const TakePiece& take);
// The same with what is in memory: EAGAIN, if a node is not.
base::Result<void> walk_in_memory(ChunkStore& chunks, const Node& top, std::uint64_t begin, std::uint64_t end,
                                  const TakePiece& take);
// The same of a recipe that nothing may refer to any more: what cannot be read is left out, and nobody is
// told.
void walk_if_there(ChunkStore& chunks, const Node& top, std::uint64_t begin, std::uint64_t end,
                   const std::function<void(const RecipePiece& piece)>& take);
// As walk_recipe() of the whole recipe. A node that cannot be read is told of, with the range of the file
// that it was to explain, and what is behind it follows.
using TakeLost = std::function<void(std::uint64_t offset, std::uint64_t length)>;
base::Result<void> walk_whole(ChunkStore& chunks, const Node& top, const TakeLost& lost,
                              const TakePiece& take);

// Calls take() for each chunk that [begin, end) of a recipe refers to, nodes among them; the top is none.
using TakeChunk = std::function<base::Result<void>(const ChunkRef& chunk)>;
base::Result<void> walk_chunks(ChunkStore& chunks, const Node& top, std::uint64_t begin, std::uint64_t end,
                               const TakeChunk& take);

// Bytes of [begin, end) that are in chunks.
base::Result<std::uint64_t> mapped_within(ChunkStore& chunks, const Node& top, std::uint64_t begin,
                                          std::uint64_t end);
// The node that an entry of `node` names; EIO: it cannot be read, or is another than its parent says.
base::Result<ChunkStore::NodeRef> child_of(ChunkStore& chunks, const Node& node, const NodeEntry& entry);

// The root that a record names; EIO: it cannot be read.
base::Result<Root> read_root(ChunkStore& chunks, const Record& record);

}  // namespace braid::store
