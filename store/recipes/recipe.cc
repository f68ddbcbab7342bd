#include "store/recipes/recipe.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace braid::store {
namespace {

// A node ends behind an entry whose id says so, if it has that many: one in 128 does.
constexpr std::size_t node_entries_min = 32;
constexpr unsigned node_cut_mask = 0x7f;

bool ends_node(const std::vector<NodeEntry>& entries) {
  if (entries.size() >= Node::entries_max) return true;
  return entries.size() >= node_entries_min &&
         (std::to_integer<unsigned>(entries.back().chunk.id.bytes.front()) & node_cut_mask) == 0;
}

bool is_child(const Node& child, const Node& node, const NodeEntry& entry) {
  return child.height + 1 == node.height && child.span == entry.length;
}

enum class Nodes : std::uint8_t {
  all,
  in_memory,  // nothing is read
  if_there,   // what cannot be read is no damage
};

struct Walk {
  ChunkStore& chunks;
  std::uint64_t begin, end;
  const TakePiece& take;
  const TakeLost* lost;  // null: what cannot be read ends the walk
  Nodes nodes = Nodes::all;
};

base::Result<ChunkStore::NodeRef> child_of(const Walk& walk, const Node& node, const NodeEntry& entry) {
  if (walk.nodes == Nodes::all) return store::child_of(walk.chunks, node, entry);
  auto child = walk.nodes == Nodes::in_memory ? walk.chunks.node_in_memory(entry.chunk)
                                              : walk.chunks.node_if_there(entry.chunk);
  if (child == nullptr || !is_child(*child, node, entry)) return base::fail(EAGAIN);
  return child;
}

// What bytes [begin, end) have of a chunk or a plain range that lies at `at`.
RecipePiece clipped(const NodeEntry& entry, std::uint64_t at, std::uint64_t begin, std::uint64_t end) {
  begin = std::max(at, begin);
  end = std::min(at + entry.length, end);
  const std::uint64_t cut = entry.kind == EntryKind::chunk ? begin - at : 0;
  return {.offset = begin,
          .length = end - begin,
          .kind = entry.kind,
          .slice = entry.slice + static_cast<std::uint32_t>(cut),
          .chunk = entry.chunk};
}

// `base` is where the node's range begins in the file.
base::Result<void> visit(const Walk& walk, const Node& node, std::uint64_t base) {
  const auto first = std::ranges::partition_point(
      node.entries, [&](const NodeEntry& entry) { return base + entry.end() <= walk.begin; });
  for (auto entry = first; entry != node.entries.end() && base + entry->offset < walk.end; ++entry) {
    const std::uint64_t at = base + entry->offset;
    if (entry->kind != EntryKind::child) {
      if (auto taken = walk.take(clipped(*entry, at, walk.begin, walk.end)); !taken) return taken;
      continue;
    }
    const auto child = child_of(walk, node, *entry);
    if (!child && walk.lost == nullptr) return base::fail(child.error());
    if (!child) (*walk.lost)(at, entry->length);
    if (!child) continue;
    if (auto visited = visit(walk, **child, at); !visited) return visited;
  }
  return {};
}

}  // namespace

base::Result<ChunkStore::NodeRef> child_of(ChunkStore& chunks, const Node& node, const NodeEntry& entry) {
  auto child = chunks.node(entry.chunk);
  if (child && !is_child(**child, node, entry)) return base::fail(EIO);
  return child;
}

base::Result<void> RecipeBuilder::add(NodeEntry entry) {
  if (entry.kind == EntryKind::chunk) mapped_ += entry.length;
  return add_to(0, entry);
}

base::Result<void> RecipeBuilder::add_to(std::size_t height, const NodeEntry& entry) {
  if (height > Node::height_max) return base::fail(EFBIG);
  if (height >= levels_.size()) levels_.resize(height + 1);
  Level& level = levels_[height];
  if (level.entries.empty()) level.begin = entry.offset;
  level.end = entry.end();
  level.entries.push_back(entry);
  return ends_node(level.entries) ? close(height) : base::Result<void>();
}

base::Result<void> RecipeBuilder::keep(const Node& top, std::uint64_t begin, std::uint64_t end,
                                       std::uint64_t to) {
  if (begin >= end) return {};
  return keep_some({.begin = begin, .end = end, .shift = to - begin}, top, 0, true);
}

// The next entry of that height begins a node.
bool RecipeBuilder::begins_node(std::size_t height) const {
  const std::size_t count = std::min(height + 1, levels_.size());
  return std::all_of(levels_.begin(), levels_.begin() + static_cast<std::ptrdiff_t>(count),
                     [](const Level& level) { return level.entries.empty(); });
}

// A node at the right edge of its recipe (`at_the_end`) ended because nothing followed, others where they end
// here, too.
base::Result<void> RecipeBuilder::keep_some(const Kept& kept, const Node& node, std::uint64_t base,
                                            bool at_the_end) {
  const auto first = std::ranges::partition_point(
      node.entries, [&](const NodeEntry& entry) { return base + entry.end() <= kept.begin; });
  for (auto entry = first; entry != node.entries.end() && base + entry->offset < kept.end; ++entry) {
    const std::uint64_t at = base + entry->offset;
    const bool is_last = at_the_end && std::next(entry) == node.entries.end();
    base::Result<void> done;
    if (entry->kind != EntryKind::child) {
      const RecipePiece piece = clipped(*entry, at, kept.begin, kept.end);
      done = add_to(0, {.offset = piece.offset + kept.shift,
                        .length = piece.length,
                        .kind = piece.kind,
                        .slice = piece.slice,
                        .chunk = piece.chunk});
    } else if (!is_last && at >= kept.begin && at + entry->length <= kept.end &&
               begins_node(node.height - 1U)) {
      NodeEntry whole = *entry;
      whole.offset = at + kept.shift;
      done = add_to(node.height, whole);
    } else if (const auto child = store::child_of(chunks_, node, *entry)) {
      done = keep_some(kept, **child, at, is_last);
    } else {
      return base::fail(child.error());
    }
    if (!done) return done;
  }
  return {};
}

Node RecipeBuilder::node_of(std::size_t height) const {
  const Level& level = levels_[height];
  Node out{
      .height = static_cast<std::uint8_t>(height), .span = level.end - level.begin, .entries = level.entries};
  for (NodeEntry& entry : out.entries) entry.offset -= level.begin;
  return out;
}

base::Result<void> RecipeBuilder::close(std::size_t height) {
  const auto chunk = chunks_.put(ChunkKind::node, encode(node_of(height)));
  if (!chunk) return base::fail(chunk.error());
  const NodeEntry entry{.offset = levels_[height].begin,
                        .length = levels_[height].end - levels_[height].begin,
                        .kind = EntryKind::child,
                        .slice = 0,
                        .chunk = *chunk};
  levels_[height].entries.clear();
  return add_to(height + 1, entry);
}

base::Result<Node> RecipeBuilder::finish() {
  for (std::size_t height = 0; height + 1 < levels_.size(); ++height)
    if (!levels_[height].entries.empty())
      if (auto closed = close(height); !closed) return base::fail(closed.error());
  levels_.back().begin = 0;
  return node_of(levels_.size() - 1);
}

base::Result<void> walk_recipe(ChunkStore& chunks, const Node& top, std::uint64_t begin, std::uint64_t end,
                               const TakePiece& take) {
  if (begin >= end) return {};
  return visit({.chunks = chunks, .begin = begin, .end = end, .take = take, .lost = nullptr}, top, 0);
}

base::Result<void> walk_in_memory(ChunkStore& chunks, const Node& top, std::uint64_t begin, std::uint64_t end,
                                  const TakePiece& take) {
  if (begin >= end) return {};
  return visit({.chunks = chunks,
                .begin = begin,
                .end = end,
                .take = take,
                .lost = nullptr,
                .nodes = Nodes::in_memory},
               top, 0);
}

void walk_if_there(ChunkStore& chunks, const Node& top, std::uint64_t begin, std::uint64_t end,
                   const std::function<void(const RecipePiece& piece)>& take) {
  const TakePiece take_piece = [&take](const RecipePiece& piece) {
    take(piece);
    return base::Result<void>();
  };
  const TakeLost lost = [](std::uint64_t, std::uint64_t) {};
  if (begin >= end) return;
  (void)visit({.chunks = chunks,
               .begin = begin,
               .end = end,
               .take = take_piece,
               .lost = &lost,
               .nodes = Nodes::if_there},
              top, 0);
}

base::Result<void> walk_whole(ChunkStore& chunks, const Node& top, const TakeLost& lost,
                              const TakePiece& take) {
  constexpr auto all = std::numeric_limits<std::uint64_t>::max();
  return visit({.chunks = chunks, .begin = 0, .end = all, .take = take, .lost = &lost}, top, 0);
}

namespace {

base::Result<void> visit_chunks(ChunkStore& chunks, const Node& node, const Extent& range, std::uint64_t base,
                                const TakeChunk& take) {
  for (const NodeEntry& entry : node.entries) {
    const std::uint64_t at = base + entry.offset;
    if (entry.kind == EntryKind::plain || at + entry.length <= range.begin || at >= range.end) continue;
    if (auto taken = take(entry.chunk); !taken) return taken;
    if (entry.kind != EntryKind::child) continue;
    const auto child = child_of(chunks, node, entry);
    if (!child) return base::fail(child.error());
    if (auto visited = visit_chunks(chunks, **child, range, at, take); !visited) return visited;
  }
  return {};
}

}  // namespace

base::Result<void> walk_chunks(ChunkStore& chunks, const Node& top, std::uint64_t begin, std::uint64_t end,
                               const TakeChunk& take) {
  return visit_chunks(chunks, top, {.begin = begin, .end = end}, 0, take);
}

base::Result<std::uint64_t> mapped_within(ChunkStore& chunks, const Node& top, std::uint64_t begin,
                                          std::uint64_t end) {
  std::uint64_t out = 0;
  const auto walked = walk_recipe(chunks, top, begin, end, [&](const RecipePiece& piece) {
    if (piece.kind == EntryKind::chunk) out += piece.length;
    return base::Result<void>();
  });
  if (!walked) return base::fail(walked.error());
  return out;
}

base::Result<Root> read_root(ChunkStore& chunks, const Record& record) {
  const auto bytes = chunks.get_root(record.root, record.at);
  if (!bytes) return base::fail(bytes.error());
  auto root = decode_root(**bytes);
  if (!root) return base::fail(EIO);
  return std::move(*root);
}

}  // namespace braid::store
