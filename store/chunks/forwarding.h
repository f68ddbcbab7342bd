// What lies in the place of a container that was rewritten: where the chunks that were in use are now.
// docs/format-store.md is the reference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "store/chunks/container_format.h"
#include "store/chunks/location.h"

namespace braid::store {

struct ForwardingEntry {
  static constexpr std::size_t bytes = 64;
  std::uint32_t offset = 0;  // where the chunk was
  ChunkKind kind = ChunkKind::data;
  std::uint32_t length = 0;
  hashing::Digest id{};
  Location to{};
  friend bool operator==(const ForwardingEntry&, const ForwardingEntry&) = default;
};
// An entry is believed in its own container's place alone.
base::Bytes encode(const ForwardingEntry& entry, std::uint32_t container);
std::optional<ForwardingEntry> decode_forwarding_entry(base::BytesView bytes, std::uint32_t container);

// The entries of one container.
class Forwarding {
 public:
  // As many as a container has chunks; a file with more is none.
  static constexpr std::size_t entries_max = 1U << 18U;

  // `bytes`: behind the head. Entries that are damaged are left out. Of those that are there each leads to a
  // container behind this one.
  static Forwarding decode(base::BytesView bytes, std::uint32_t container);
  // Nothing: the chunk was not in use when the container was rewritten, or the entry is damaged.
  [[nodiscard]] std::optional<Location> find(std::uint32_t offset) const;
  [[nodiscard]] std::size_t size() const { return moved_.size(); }
  [[nodiscard]] std::uint64_t damaged() const { return damaged_; }

 private:
  struct Moved {
    std::uint32_t offset = 0;
    Location to{};
  };
  std::vector<Moved> moved_;  // by offset
  std::uint64_t damaged_ = 0;
};

// The whole file.
base::Bytes encode_forwarding(const StoreId& store, std::uint32_t container,
                              std::span<const ForwardingEntry> entries);

}  // namespace braid::store
