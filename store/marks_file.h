// The file `marks` of a store: what the last mark of what is in use has left. docs/format-store.md is the
// reference.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace braid::store {

// Times are seconds since 1970.
struct Marks {
  static constexpr const char* name = "marks";
  // More containers than that are not kept: they are missed by a later mark.
  static constexpr std::size_t missed_max = 1U << 19U, thin_max = 1U << 17U;
  static constexpr std::size_t bytes_max = 32U << 20U;

  std::uint64_t marked = 0;   // when the last mark had ended
  std::uint64_t live = 0;     // bytes in containers that files refer to
  std::uint64_t garbage = 0;  // and the others
  // Containers of which the last mark has seen nothing, and since when each mark has not.
  std::map<std::uint32_t, std::uint64_t> missed{};
  // Containers less than half of which is in use: since when each mark has seen the same chunks of it, and
  // which these are (the XXH64 of their offsets, in order).
  struct Thin {
    std::uint64_t since = 0;
    std::uint64_t chunks = 0;
    friend bool operator==(const Thin&, const Thin&) = default;
  };
  std::map<std::uint32_t, Thin> thin{};
  friend bool operator==(const Marks&, const Marks&) = default;
};

std::string encode(const Marks& marks);
// Nothing: it is damaged, or of a later version.
std::optional<Marks> decode_marks(std::string_view text);

}  // namespace braid::store
