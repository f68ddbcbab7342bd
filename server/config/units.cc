#include "server/config/units.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <utility>

#include "base/arith.h"

namespace braid::server::config {
namespace {

constexpr std::array<std::pair<std::string_view, std::uint64_t>, 5> units{
    {{"B", 1}, {"KiB", 1ull << 10}, {"MiB", 1ull << 20}, {"GiB", 1ull << 30}, {"TiB", 1ull << 40}}};

}  // namespace

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  if (unit.empty()) return number;
  if (unit.front() == ' ') unit.remove_prefix(1);
  for (const auto& [name, factor] : units)
    if (unit == name) return base::multiply(number, factor);
  return std::nullopt;
}

std::string bytes_text(std::uint64_t bytes) {
  std::size_t unit = 0;
  while (unit + 1 < units.size() && bytes >= units[unit + 1].second) ++unit;
  const auto& [name, factor] = units[unit];
  if (bytes % factor == 0) return fmt::format("{} {}", bytes / factor, name);
  return fmt::format("{:.1f} {}", static_cast<double>(bytes) / static_cast<double>(factor), name);
}

std::string duration_text(std::uint64_t seconds) {
  constexpr std::uint64_t minute = 60, hour = 60 * minute, day = 24 * hour;
  if (seconds < minute) return fmt::format("{} s", seconds);
  if (seconds < hour) return fmt::format("{} min {} s", seconds / minute, seconds % minute);
  if (seconds < day) return fmt::format("{} h {} min", seconds / hour, seconds % hour / minute);
  return fmt::format("{} d {} h", seconds / day, seconds % day / hour);
}

}  // namespace braid::server::config
