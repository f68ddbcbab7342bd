#include "store/recipes/recipe_edit.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace braid::store {
namespace {

// Offsets are those of the node that the range is about.
struct Hole {
  std::uint64_t begin, end;

  // As a node sees it that begins at `base`.
  [[nodiscard]] Hole within(std::uint64_t base) const {
    return {.begin = begin > base ? begin - base : 0, .end = end > base ? end - base : 0};
  }
};

// What is left of a chunk or of a plain range.
void clip(const NodeEntry& entry, const Hole& hole, std::vector<NodeEntry>& out) {
  if (hole.begin > entry.offset) {
    NodeEntry front = entry;
    front.length = std::min(entry.length, hole.begin - entry.offset);
    out.push_back(front);
  }
  if (hole.end < entry.end()) {
    NodeEntry back = entry;
    const std::uint64_t cut = hole.end > entry.offset ? hole.end - entry.offset : 0;
    back.offset += cut;
    back.length -= cut;
    if (entry.kind == EntryKind::chunk) back.slice += static_cast<std::uint32_t>(cut);
    out.push_back(back);
  }
}

// A clipped chunk can be two entries: as many nodes as they take, each behind the one before.
std::vector<Node> nodes_of(std::uint8_t height, std::uint64_t span, const std::vector<NodeEntry>& entries) {
  std::vector<Node> out;
  const std::size_t count = (entries.size() + Node::entries_max - 1) / Node::entries_max;
  std::uint64_t begin = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t from = entries.size() * i / count, to = entries.size() * (i + 1) / count;
    const std::uint64_t end = to == entries.size() ? span : entries[to].offset;
    Node node{.height = height,
              .span = end - begin,
              .entries = {entries.begin() + static_cast<std::ptrdiff_t>(from),
                          entries.begin() + static_cast<std::ptrdiff_t>(to)}};
    for (NodeEntry& entry : node.entries) entry.offset -= begin;
    out.push_back(std::move(node));
    begin = end;
  }
  return out;
}

base::Result<std::vector<Node>> edited(ChunkStore& chunks, const Node& node, const Hole& hole);

// What is left of a child, as entries of its parent.
base::Result<void> edit_child(ChunkStore& chunks, const Node& node, const NodeEntry& entry, const Hole& hole,
                              std::vector<NodeEntry>& out) {
  const auto child = child_of(chunks, node, entry);
  if (!child) return base::fail(child.error());
  const auto left = edited(chunks, **child, hole.within(entry.offset));
  if (!left) return base::fail(left.error());
  std::uint64_t at = entry.offset;
  for (const Node& part : *left) {
    const auto kept = chunks.put(ChunkKind::node, encode(part));
    if (!kept) return base::fail(kept.error());
    out.push_back({.offset = at, .length = part.span, .kind = EntryKind::child, .slice = 0, .chunk = *kept});
    at += part.span;
  }
  return {};
}

base::Result<std::vector<Node>> edited(ChunkStore& chunks, const Node& node, const Hole& hole) {
  std::vector<NodeEntry> entries;
  for (const NodeEntry& entry : node.entries) {
    const bool apart = entry.end() <= hole.begin || entry.offset >= hole.end;
    const bool inside = entry.offset >= hole.begin && entry.end() <= hole.end;
    if (inside) continue;
    if (apart) {
      entries.push_back(entry);
    } else if (entry.kind != EntryKind::child) {
      clip(entry, hole, entries);
    } else if (auto done = edit_child(chunks, node, entry, hole, entries); !done) {
      return base::fail(done.error());
    }
  }
  if (entries.empty()) return std::vector<Node>();
  const std::uint64_t span = hole.end >= node.span ? entries.back().end() : node.span;
  return nodes_of(node.height, span, entries);
}

}  // namespace

base::Result<Node> without_range(ChunkStore& chunks, const Node& top, std::uint64_t begin,
                                 std::uint64_t end) {
  auto left = edited(chunks, top, {.begin = begin, .end = end});
  if (!left) return base::fail(left.error());
  if (left->empty()) return Node();
  if (left->size() == 1) return std::move(left->front());
  if (top.height == Node::height_max) return base::fail(EFBIG);
  Node above{.height = static_cast<std::uint8_t>(top.height + 1)};
  for (const Node& part : *left) {
    const auto kept = chunks.put(ChunkKind::node, encode(part));
    if (!kept) return base::fail(kept.error());
    above.entries.push_back(
        {.offset = above.span, .length = part.span, .kind = EntryKind::child, .slice = 0, .chunk = *kept});
    above.span += part.span;
  }
  return above;
}

base::Result<RevisedRecipe> with_replaced(ChunkStore& chunks, const RevisedRecipe& old,
                                          std::span<const Extent> ranges, std::uint64_t size,
                                          const AddReplacement& add) {
  RecipeBuilder recipe(chunks);
  std::uint64_t at = 0, gone = 0;
  for (std::size_t i = 0; i <= ranges.size(); ++i) {
    const bool is_end = i == ranges.size();
    const Extent range = is_end ? Extent{size, std::numeric_limits<std::uint64_t>::max()} : ranges[i];
    if (auto kept = recipe.keep(old.top, at, range.begin); !kept) return base::fail(kept.error());
    const auto taken = mapped_within(chunks, old.top, range.begin, range.end);
    if (!taken) return base::fail(taken.error());
    gone += *taken;
    at = range.end;
    if (is_end) break;
    if (auto added = add(i, recipe); !added) return base::fail(added.error());
  }
  auto top = recipe.finish();
  if (!top) return base::fail(top.error());
  return RevisedRecipe{std::move(*top), old.mapped - std::min(old.mapped, gone) + recipe.mapped()};
}

base::Result<RevisedRecipe> with_spliced(ChunkStore& chunks, const RevisedRecipe& old,
                                         const RevisedRecipe& other, const Extent& from, std::uint64_t to,
                                         std::uint64_t size) {
  constexpr std::uint64_t all = std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t end = to + (from.end - from.begin);
  RecipeBuilder recipe(chunks);
  base::Result<void> kept = recipe.keep(old.top, 0, std::min(to, size));
  if (kept) kept = recipe.keep(other.top, from.begin, from.end, to);
  if (kept) kept = recipe.keep(old.top, end, size);
  if (!kept) return base::fail(kept.error());
  const auto gone = mapped_within(chunks, old.top, to, end);
  const auto behind = mapped_within(chunks, old.top, std::max(end, size), all);
  // A whole recipe need not be read to be counted.
  const bool is_whole =
      from.begin == 0 && (other.top.entries.empty() || other.top.entries.back().end() <= from.end);
  const auto come = is_whole ? base::Result<std::uint64_t>(other.mapped)
                             : mapped_within(chunks, other.top, from.begin, from.end);
  for (const auto* counted : {&gone, &behind, &come})
    if (!*counted) return base::fail(counted->error());
  auto top = recipe.finish();
  if (!top) return base::fail(top.error());
  return RevisedRecipe{std::move(*top), old.mapped - std::min(old.mapped, *gone + *behind) + *come};
}

}  // namespace braid::store
