// The file `scrub` of a store: how far its chunks have been read to see whether they are what they were.
// docs/format-store.md is the reference.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "store/chunks/location.h"

namespace braid::store {

// Times are seconds since 1970.
struct ScrubState {
  static constexpr const char* name = "scrub";
  // More bad places are not kept.
  static constexpr std::size_t bad_max = 1U << 16U;
  static constexpr std::size_t bytes_max = 4U << 20U;

  std::uint64_t begun = 0;  // the pass that is under way, or the last one; 0: there was none
  std::uint64_t ended = 0;  // the last one that came to its end
  std::uint32_t next = 0;   // container of the pass that is under way; 0: none is
  // Places that were not what they were when they were read last. Offset 0: of the entries of a container
  // that was rewritten, or of what has no place of its own.
  std::set<Location> bad{};
  friend bool operator==(const ScrubState&, const ScrubState&) = default;
};

std::string encode(const ScrubState& state);
// Nothing: it is damaged, or of a later version.
std::optional<ScrubState> decode_scrub(std::string_view text);

}  // namespace braid::store
