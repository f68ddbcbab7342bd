// How a stream is cut into chunks. Everything that decides where a cut falls is in a ChunkParams; the stores
// that use one record its format version, profile and key, and never mix sets (docs/hashing.md).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "hashing/digest.h"
#include "hashing/gear.h"

namespace braid::hashing {

// Of the definition of boundaries and ids in docs/hashing.md.
constexpr std::uint32_t chunk_format_version = 1;

enum class Profile : std::uint8_t {
  general,     // 16 KiB / 64 KiB / 256 KiB by content: files of unknown kind
  bulk,        // 64 KiB / 256 KiB / 1 MiB: large files that change rarely
  checkpoint,  // 256 KiB / 1 MiB / 4 MiB: very large files, written at once
  block,       // fixed blocks, aligned in the file: files overwritten in place
  whole,       // small files: one chunk up to 16 KiB, fixed pieces of 16 KiB beyond
  fixed,       // blocks of 1 MiB: very large files to which is only appended, and comparisons with others
};
inline constexpr std::array all_profiles{Profile::general, Profile::bulk,  Profile::checkpoint,
                                         Profile::block,   Profile::whole, Profile::fixed};
std::string_view name_of(Profile profile);
std::optional<Profile> parse_profile(std::string_view name);

// Chunk lengths in bytes. By content: min < avg < max, avg a power of two, the mean of random data is near
// 1.15 avg. Fixed: all three alike.
struct ChunkSizes {
  std::uint32_t min = 0, avg = 0, max = 0;
  friend bool operator==(const ChunkSizes&, const ChunkSizes&) = default;
};
constexpr std::uint32_t chunk_bytes_min = 4096;      // the least `avg` and the least `min`
constexpr std::uint32_t chunk_bytes_max = 4U << 20;  // the largest `max`
constexpr std::uint32_t block_bytes_default = 16384;

// Immutable; shared by all jobs of a store, and must outlive them.
class ChunkParams {
 public:
  static ChunkParams of(Profile profile, const Key& key);
  // EINVAL: block_bytes is no power of two from chunk_bytes_min to chunk_bytes_max.
  static base::Result<ChunkParams> fixed(std::uint32_t block_bytes);
  // EINVAL: not chunk_bytes_min <= min < avg < max <= chunk_bytes_max, or avg no power of two.
  static base::Result<ChunkParams> by_content(const ChunkSizes& sizes, const Key& key);

  [[nodiscard]] const ChunkSizes& sizes() const { return sizes_; }
  [[nodiscard]] bool is_fixed() const { return sizes_.min == sizes_.max; }
  // Of content-defined parameters only.
  [[nodiscard]] const GearTables& tables() const { return tables_; }
  [[nodiscard]] GearMask strict() const { return strict_; }
  [[nodiscard]] GearMask loose() const { return loose_; }

 private:
  ChunkSizes sizes_;
  GearTables tables_{};
  GearMask strict_, loose_;
};

}  // namespace braid::hashing
