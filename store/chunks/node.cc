#include "store/chunks/node.h"

#include <algorithm>
#include <limits>

#include "base/arith.h"
#include "base/assert.h"
#include "base/big_endian.h"

namespace braid::store {
namespace {

// Offsets of docs/format-store.md.
namespace node_at {
constexpr std::size_t magic = 0, version = 4, height = 5, count = 6, span = 8;
}
namespace entry_at {
constexpr std::size_t offset = 0, length = 8, slice = 16, bytes = 20, kind = 24, reserved = 25, id = 28;
}
namespace root_at {
constexpr std::size_t magic = 0, version = 4, reserved = 5, size = 8, mtime = 16, ctime = 28, steps = 40,
                      reserved_too = 44;
}
namespace step_at {
constexpr std::size_t kind = 0, reserved = 1, offset = 8, length = 16;
}

constexpr std::uint32_t node_magic = 0x4e6f6465;  // "Node"
constexpr std::uint32_t root_magic = 0x526f6f74;  // "Root"
constexpr std::uint8_t node_version = 1;
constexpr std::uint64_t offset_limit = std::numeric_limits<std::int64_t>::max();
constexpr std::uint32_t nanoseconds_in_second = 1'000'000'000;

bool is_zeros(base::BytesView bytes) {
  return std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{}; });
}

bool is_sound_entry(const NodeEntry& entry, std::uint8_t height) {
  if (entry.length == 0) return false;
  switch (entry.kind) {
    case EntryKind::plain:
      return height == 0 && entry.slice == 0 && entry.chunk == ChunkRef{};
    case EntryKind::chunk:
      return height == 0 && entry.chunk.bytes <= hashing::chunk_bytes_max &&
             entry.length <= entry.chunk.bytes && entry.slice <= entry.chunk.bytes - entry.length;
    case EntryKind::child:
      return height > 0 && entry.slice == 0 && entry.chunk.bytes > Node::header_bytes &&
             entry.chunk.bytes <= Node::bytes_max;
  }
  return false;
}

void put_entry(base::MutableBytes to, const NodeEntry& entry) {
  base::store_be<std::uint64_t>(to, entry_at::offset, entry.offset);
  base::store_be<std::uint64_t>(to, entry_at::length, entry.length);
  base::store_be<std::uint32_t>(to, entry_at::slice, entry.slice);
  base::store_be<std::uint32_t>(to, entry_at::bytes, entry.chunk.bytes);
  base::store_be<std::uint8_t>(to, entry_at::kind, static_cast<std::uint8_t>(entry.kind));
  std::ranges::copy(entry.chunk.id.bytes, to.begin() + entry_at::id);
}

std::optional<NodeEntry> get_entry(base::BytesView from) {
  NodeEntry out;
  out.offset = base::load_be<std::uint64_t>(from, entry_at::offset);
  out.length = base::load_be<std::uint64_t>(from, entry_at::length);
  out.slice = base::load_be<std::uint32_t>(from, entry_at::slice);
  out.chunk.bytes = base::load_be<std::uint32_t>(from, entry_at::bytes);
  const auto kind = base::load_be<std::uint8_t>(from, entry_at::kind);
  if (kind < static_cast<std::uint8_t>(EntryKind::chunk) ||
      kind > static_cast<std::uint8_t>(EntryKind::child) ||
      !is_zeros(from.subspan(entry_at::reserved, entry_at::id - entry_at::reserved)))
    return std::nullopt;
  out.kind = static_cast<EntryKind>(kind);
  std::ranges::copy(from.subspan(entry_at::id, hashing::digest_bytes), out.chunk.id.bytes.begin());
  return out;
}

// Of the entries that the header of a node tells; nothing if there is no such node in the bytes.
std::optional<std::size_t> entries_of(base::BytesView bytes) {
  if (bytes.size() < Node::header_bytes) return std::nullopt;
  const std::size_t count = base::load_be<std::uint16_t>(bytes, node_at::count);
  if (count > Node::entries_max ||
      bytes.size() != Node::header_bytes + count * (Node::entry_bytes + Node::location_bytes))
    return std::nullopt;
  return count;
}

void put_time(base::MutableBytes to, std::size_t at, const vfs::Time& time) {
  base::store_be<std::uint64_t>(to, at, static_cast<std::uint64_t>(time.seconds));
  base::store_be<std::uint32_t>(to, at + 8, time.nanoseconds);
}
vfs::Time get_time(base::BytesView from, std::size_t at) {
  return {static_cast<std::int64_t>(base::load_be<std::uint64_t>(from, at)),
          base::load_be<std::uint32_t>(from, at + 8)};
}

bool is_sound_step(const PendingStep& step) {
  const auto end = base::end_of<std::uint64_t>(step.offset, step.length, offset_limit);
  return end && (step.kind == StepKind::punch ? step.length > 0 : step.length == 0);
}

bool is_sound_root(const Root& root) {
  return root.size <= offset_limit && root.mtime.nanoseconds < nanoseconds_in_second &&
         root.ctime.nanoseconds < nanoseconds_in_second && root.steps.size() <= Root::steps_max &&
         std::ranges::all_of(root.steps, is_sound_step) && is_sound(root.top) && root.top.span <= root.size;
}

std::optional<PendingStep> get_step(base::BytesView from) {
  const auto kind = base::load_be<std::uint8_t>(from, step_at::kind);
  if (kind < static_cast<std::uint8_t>(StepKind::punch) || kind > static_cast<std::uint8_t>(StepKind::cut) ||
      !is_zeros(from.subspan(step_at::reserved, step_at::offset - step_at::reserved)))
    return std::nullopt;
  return PendingStep{.kind = static_cast<StepKind>(kind),
                     .offset = base::load_be<std::uint64_t>(from, step_at::offset),
                     .length = base::load_be<std::uint64_t>(from, step_at::length)};
}

// Where the top node begins in a root's bytes.
std::optional<std::size_t> top_of(base::BytesView bytes) {
  if (bytes.size() < Root::header_bytes) return std::nullopt;
  const std::size_t steps = base::load_be<std::uint32_t>(bytes, root_at::steps);
  if (steps > Root::steps_max) return std::nullopt;
  const std::size_t at = Root::header_bytes + steps * Root::step_bytes;
  if (at > bytes.size()) return std::nullopt;
  return at;
}

}  // namespace

bool is_sound(const Node& node) {
  if (node.height > Node::height_max || node.entries.size() > Node::entries_max || node.span > offset_limit)
    return false;
  std::uint64_t at = 0;
  for (const NodeEntry& entry : node.entries) {
    const auto end = base::end_of(entry.offset, entry.length, node.span);
    if (entry.offset < at || !end || !is_sound_entry(entry, node.height)) return false;
    at = *end;
  }
  return true;
}

base::Bytes encode(const Node& node) {
  base::check(is_sound(node), "a node is sound");
  const std::size_t count = node.entries.size();
  base::Bytes out(Node::header_bytes + count * (Node::entry_bytes + Node::location_bytes));
  base::store_be<std::uint32_t>(out, node_at::magic, node_magic);
  base::store_be<std::uint8_t>(out, node_at::version, node_version);
  base::store_be<std::uint8_t>(out, node_at::height, node.height);
  base::store_be<std::uint16_t>(out, node_at::count, static_cast<std::uint16_t>(count));
  base::store_be<std::uint64_t>(out, node_at::span, node.span);
  const std::size_t locations = Node::header_bytes + count * Node::entry_bytes;
  for (std::size_t i = 0; i < count; ++i) {
    put_entry(base::MutableBytes(out).subspan(Node::header_bytes + i * Node::entry_bytes, Node::entry_bytes),
              node.entries[i]);
    base::store_be<std::uint64_t>(out, locations + i * Node::location_bytes,
                                  node.entries[i].chunk.at.packed());
  }
  return out;
}

std::optional<Node> decode_node(base::BytesView bytes) {
  const auto count = entries_of(bytes);
  if (!count || base::load_be<std::uint32_t>(bytes, node_at::magic) != node_magic ||
      base::load_be<std::uint8_t>(bytes, node_at::version) != node_version)
    return std::nullopt;
  Node out;
  out.height = base::load_be<std::uint8_t>(bytes, node_at::height);
  out.span = base::load_be<std::uint64_t>(bytes, node_at::span);
  out.entries.reserve(*count);
  const std::size_t locations = Node::header_bytes + *count * Node::entry_bytes;
  for (std::size_t i = 0; i < *count; ++i) {
    auto entry = get_entry(bytes.subspan(Node::header_bytes + i * Node::entry_bytes, Node::entry_bytes));
    if (!entry) return std::nullopt;
    entry->chunk.at =
        Location::unpacked(base::load_be<std::uint64_t>(bytes, locations + i * Node::location_bytes));
    out.entries.push_back(*entry);
  }
  if (!is_sound(out)) return std::nullopt;
  return out;
}

base::Bytes encode(const Root& root) {
  base::check(is_sound_root(root), "a root is sound");
  base::Bytes out(Root::header_bytes + root.steps.size() * Root::step_bytes);
  base::store_be<std::uint32_t>(out, root_at::magic, root_magic);
  base::store_be<std::uint8_t>(out, root_at::version, node_version);
  base::store_be<std::uint64_t>(out, root_at::size, root.size);
  put_time(out, root_at::mtime, root.mtime);
  put_time(out, root_at::ctime, root.ctime);
  base::store_be<std::uint32_t>(out, root_at::steps, static_cast<std::uint32_t>(root.steps.size()));
  for (std::size_t i = 0; i < root.steps.size(); ++i) {
    const PendingStep& step = root.steps[i];
    const auto to =
        base::MutableBytes(out).subspan(Root::header_bytes + i * Root::step_bytes, Root::step_bytes);
    base::store_be<std::uint8_t>(to, step_at::kind, static_cast<std::uint8_t>(step.kind));
    base::store_be<std::uint64_t>(to, step_at::offset, step.offset);
    base::store_be<std::uint64_t>(to, step_at::length, step.length);
  }
  const base::Bytes top = encode(root.top);
  out.insert(out.end(), top.begin(), top.end());
  return out;
}

std::optional<Root> decode_root(base::BytesView bytes) {
  const auto top_at = top_of(bytes);
  if (!top_at || base::load_be<std::uint32_t>(bytes, root_at::magic) != root_magic ||
      base::load_be<std::uint8_t>(bytes, root_at::version) != node_version ||
      !is_zeros(bytes.subspan(root_at::reserved, root_at::size - root_at::reserved)) ||
      !is_zeros(bytes.subspan(root_at::reserved_too, Root::header_bytes - root_at::reserved_too)))
    return std::nullopt;
  Root out;
  out.size = base::load_be<std::uint64_t>(bytes, root_at::size);
  out.mtime = get_time(bytes, root_at::mtime);
  out.ctime = get_time(bytes, root_at::ctime);
  for (std::size_t at = Root::header_bytes; at < *top_at; at += Root::step_bytes) {
    const auto step = get_step(bytes.subspan(at, Root::step_bytes));
    if (!step) return std::nullopt;
    out.steps.push_back(*step);
  }
  auto top = decode_node(bytes.subspan(*top_at));
  if (!top) return std::nullopt;
  out.top = std::move(*top);
  if (!is_sound_root(out)) return std::nullopt;
  return out;
}

std::optional<base::BytesView> named_bytes(ChunkKind kind, base::BytesView chunk) {
  if (kind == ChunkKind::data) return chunk;
  if (kind == ChunkKind::directory) return std::nullopt;
  const auto node_begin = kind == ChunkKind::root ? top_of(chunk) : std::optional<std::size_t>(0);
  if (!node_begin) return std::nullopt;
  const auto count = entries_of(chunk.subspan(*node_begin));
  if (!count) return std::nullopt;
  return chunk.first(chunk.size() - *count * Node::location_bytes);
}

std::uint32_t chunk_bytes_limit(ChunkKind kind) {
  switch (kind) {
    case ChunkKind::data:
      return hashing::chunk_bytes_max;
    case ChunkKind::node:
      return Node::bytes_max;
    case ChunkKind::root:
      return Root::bytes_max;
    case ChunkKind::directory:
      return 16U << 20U;
  }
  return 0;
}

}  // namespace braid::store
