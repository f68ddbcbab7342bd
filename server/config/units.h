// Sizes and durations as people write and read them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace braid::server::config {

// "65536", "64KiB", "1 GiB"; units are B, KiB, MiB, GiB and TiB. Nothing for anything else or beyond 64 bits.
std::optional<std::uint64_t> parse_bytes(std::string_view text);
// "64 KiB", "1.5 GiB", "12 B": at most one decimal.
std::string bytes_text(std::uint64_t bytes);
// "45 s", "3 min 5 s", "2 h 4 min", "12 d 3 h".
std::string duration_text(std::uint64_t seconds);

}  // namespace braid::server::config
