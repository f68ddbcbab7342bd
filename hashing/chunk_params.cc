#include "hashing/chunk_params.h"

#include <algorithm>
#include <bit>

#include "base/assert.h"

namespace braid::hashing {
namespace {

constexpr unsigned prefilter_bits_max = 12;
constexpr unsigned strict_bits = 4;  // more than `loose`

constexpr ChunkSizes sizes_of(Profile profile) {
  constexpr std::uint32_t KiB = 1024;
  switch (profile) {
    case Profile::general:
      return {16 * KiB, 64 * KiB, 256 * KiB};
    case Profile::bulk:
      return {64 * KiB, 256 * KiB, 1024 * KiB};
    case Profile::checkpoint:
      return {256 * KiB, 1024 * KiB, 4096 * KiB};
    case Profile::fixed:
      return {1024 * KiB, 1024 * KiB, 1024 * KiB};
    case Profile::block:
    case Profile::whole:
      break;
  }
  return {block_bytes_default, block_bytes_default, block_bytes_default};
}

constexpr std::uint32_t top_bits(unsigned count, unsigned width) {
  return count == 0 ? 0 : ((std::uint32_t{1} << count) - 1) << (width - count);
}

}  // namespace

std::string_view name_of(Profile profile) {
  switch (profile) {
    case Profile::general:
      return "general";
    case Profile::bulk:
      return "bulk";
    case Profile::checkpoint:
      return "checkpoint";
    case Profile::block:
      return "block";
    case Profile::whole:
      return "whole";
    case Profile::fixed:
      return "fixed";
  }
  return "general";
}

std::optional<Profile> parse_profile(std::string_view name) {
  const auto* const found = std::ranges::find(all_profiles, name, [](Profile p) { return name_of(p); });
  if (found == all_profiles.end()) return std::nullopt;
  return *found;
}

ChunkParams ChunkParams::of(Profile profile, const Key& key) {
  const ChunkSizes sizes = sizes_of(profile);
  auto made = sizes.min == sizes.max ? fixed(sizes.min) : by_content(sizes, key);
  base::check(made.has_value(), "the profiles are within the limits");
  return *made;
}

base::Result<ChunkParams> ChunkParams::fixed(std::uint32_t bytes) {
  if (!std::has_single_bit(bytes) || bytes < chunk_bytes_min || bytes > chunk_bytes_max)
    return base::fail(EINVAL);
  ChunkParams out;
  out.sizes_ = {bytes, bytes, bytes};
  return out;
}

base::Result<ChunkParams> ChunkParams::by_content(const ChunkSizes& sizes, const Key& key) {
  if (sizes.min < chunk_bytes_min || sizes.min >= sizes.avg || sizes.avg >= sizes.max ||
      sizes.max > chunk_bytes_max || !std::has_single_bit(sizes.avg))
    return base::fail(EINVAL);
  ChunkParams out;
  out.sizes_ = sizes;
  out.tables_ = GearTables::from(key);
  // One loose position in avg / 4 bytes.
  const auto bits = static_cast<unsigned>(std::countr_zero(sizes.avg)) - 2;
  const unsigned prefilter = std::min(bits, prefilter_bits_max);
  const auto prefilter_mask = static_cast<std::uint16_t>(top_bits(prefilter, 16));
  out.loose_ = {prefilter_mask, top_bits(bits - prefilter, 32)};
  out.strict_ = {prefilter_mask, top_bits(bits - prefilter + strict_bits, 32)};
  return out;
}

}  // namespace braid::hashing
