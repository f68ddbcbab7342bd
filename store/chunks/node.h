// The nodes of a recipe, as they lie in chunks. docs/format-store.md is the reference.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "hashing/chunk_params.h"
#include "hashing/digest.h"
#include "store/chunks/keys.h"
#include "store/chunks/location.h"
#include "vfs/types.h"

namespace braid::store {

// A chunk, wherever it lies.
struct ChunkRef {
  hashing::Digest id{};
  Location at{};
  std::uint32_t bytes = 0;  // of the chunk
  friend bool operator==(const ChunkRef&, const ChunkRef&) = default;
};

enum class EntryKind : std::uint8_t {
  chunk = 1,  // bytes [slice, slice + length) of a data chunk
  plain = 2,  // the file's own bytes, though they be zeros: space that was asked for
  child = 3,  // a node
};

// What bytes [offset, offset + length) of a node's range are; offsets begin at 0 in each node, so a node says
// the same wherever its bytes are. What no entry covers is a hole.
struct NodeEntry {
  std::uint64_t offset = 0, length = 0;
  EntryKind kind = EntryKind::chunk;
  std::uint32_t slice = 0;
  ChunkRef chunk{};  // zeros for `plain`

  [[nodiscard]] std::uint64_t end() const { return offset + length; }
  friend bool operator==(const NodeEntry&, const NodeEntry&) = default;
};

struct Node {
  static constexpr std::size_t entries_max = 240;
  static constexpr std::uint8_t height_max = 7;
  static constexpr std::size_t header_bytes = 16, entry_bytes = 60, location_bytes = 8;
  static constexpr std::size_t bytes_max = header_bytes + entries_max * (entry_bytes + location_bytes);

  std::uint8_t height = 0;  // 0: its entries are chunks and plain ranges; else children of height - 1
  std::uint64_t span = 0;   // bytes of its range
  std::vector<NodeEntry> entries{};  // in order, none over another

  friend bool operator==(const Node&, const Node&) = default;
};

// Sound is what has limits and order as above, and offsets below 2^63.
[[nodiscard]] bool is_sound(const Node& node);
base::Bytes encode(const Node& node);
// Nothing unless it is exactly what encode() makes of a sound node.
std::optional<Node> decode_node(base::BytesView bytes);

enum class StepKind : std::uint8_t {
  punch = 1,  // bytes [offset, offset + length) of the stub are none of the file's
  cut = 2,    // the stub ends at `offset`; length is 0
};
struct PendingStep {
  StepKind kind = StepKind::punch;
  std::uint64_t offset = 0, length = 0;
  friend bool operator==(const PendingStep&, const PendingStep&) = default;
};

struct Root {
  static constexpr std::size_t steps_max = 1024;
  static constexpr std::size_t header_bytes = 48, step_bytes = 24;
  static constexpr std::size_t bytes_max = header_bytes + steps_max * step_bytes + Node::bytes_max;

  std::uint64_t size = 0;      // of the file when the recipe was made
  vfs::Time mtime{}, ctime{};  // then
  std::vector<PendingStep> steps{};
  Node top{};
  friend bool operator==(const Root&, const Root&) = default;
};
base::Bytes encode(const Root& root);
std::optional<Root> decode_root(base::BytesView bytes);

// The bytes of a chunk that its id covers: all but the locations of what it refers to. Nothing: it is no
// chunk of that kind.
std::optional<base::BytesView> named_bytes(ChunkKind kind, base::BytesView chunk);
// How long chunks of a kind can be.
std::uint32_t chunk_bytes_limit(ChunkKind kind);

}  // namespace braid::store
