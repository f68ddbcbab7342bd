#include "pnfs_mds/stripe_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

#include "base/arith.h"

namespace braid::pnfs_mds {
namespace {

std::optional<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t out = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, out);
  if (text.empty() || parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return out;
}

// "1048576", "1024KiB", "1MiB", "1GiB".
std::optional<std::uint32_t> parse_unit(std::string_view text) {
  std::uint64_t scale = 1;
  for (const auto& [suffix, bytes] :
       {std::pair<std::string_view, std::uint64_t>{"KiB", base::KiB}, {"MiB", base::MiB}, {"GiB", base::GiB}})
    if (text.ends_with(suffix)) {
      scale = bytes;
      text.remove_suffix(suffix.size());
      break;
    }
  const auto count = parse_number(text);
  const auto bytes = count ? base::multiply(*count, scale) : std::nullopt;
  if (!bytes) return std::nullopt;
  return base::narrow<std::uint32_t>(*bytes);
}

// What is wrong with it; empty: nothing.
std::string take(std::string_view name, std::string_view value, StripePolicy& policy) {
  if (name == "unit") {
    const auto unit = parse_unit(value);
    if (!unit || !pnfs::Striping{.unit = *unit}.valid())
      return "the unit is no multiple of 4KiB from 64KiB to 1GiB";
    policy.unit = *unit;
    return {};
  }
  if (name == "width") {
    const auto width = parse_number(value);
    if (!width || *width < 1 || *width > pnfs::Striping::width_max)
      return fmt::format("the width is no number from 1 to {}", pnfs::Striping::width_max);
    policy.width = static_cast<std::uint32_t>(*width);
    return {};
  }
  if (name == "packing") {
    if (value != "sparse" && value != "dense") return "the packing is neither sparse nor dense";
    policy.packing = value == "dense" ? pnfs::Packing::dense : pnfs::Packing::sparse;
    return {};
  }
  return "it names something else than unit, width and packing";
}

}  // namespace

std::expected<StripePolicy, std::string> parse_stripes(std::string_view text, const StripePolicy& otherwise) {
  StripePolicy out = otherwise;
  std::array<std::string_view, 3> seen;  // there are three names, and each comes once
  std::size_t count = 0;
  for (bool more = true; more;) {
    const std::size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    more = comma != std::string_view::npos;
    if (more) text.remove_prefix(comma + 1);
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos || equals == 0)
      return std::unexpected("it is no list of name=value");
    const std::string_view name = part.substr(0, equals);
    if (std::ranges::find(seen, name) != seen.end()) return std::unexpected("it names something twice");
    if (std::string wrong = take(name, part.substr(equals + 1), out); !wrong.empty())
      return std::unexpected(std::move(wrong));
    seen.at(count++) = name;
  }
  const pnfs::Striping striping{.unit = out.unit, .width = out.width, .packing = out.packing};
  if (!striping.valid()) return std::unexpected("unit times width of a dense packing is 4GiB or more");
  return out;
}

}  // namespace braid::pnfs_mds
