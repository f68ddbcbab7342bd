// Where a record lies: a hint, which counts only if the record there is the one that is looked for.
#pragma once

#include <compare>
#include <cstdint>

namespace braid::store {

// 64 bits: 8 of a volume, 30 of a container's number, 26 of an offset in it.
struct Location {
  static constexpr unsigned offset_bits = 26, container_bits = 30;
  static constexpr std::uint32_t offset_end = 1U << offset_bits;        // 64 MiB
  static constexpr std::uint32_t container_end = 1U << container_bits;  // 64 PiB of them
  std::uint8_t volume = 0;                                              // one so far
  std::uint32_t container = 0;                                          // from 1 on
  std::uint32_t offset = 0;

  [[nodiscard]] constexpr std::uint64_t packed() const {
    return std::uint64_t{volume} << (offset_bits + container_bits) | std::uint64_t{container} << offset_bits |
           offset;
  }
  static constexpr Location unpacked(std::uint64_t bits) {
    return {.volume = static_cast<std::uint8_t>(bits >> (offset_bits + container_bits)),
            .container = static_cast<std::uint32_t>(bits >> offset_bits) & (container_end - 1),
            .offset = static_cast<std::uint32_t>(bits) & (offset_end - 1)};
  }
  friend auto operator<=>(const Location&, const Location&) = default;
};

}  // namespace braid::store
