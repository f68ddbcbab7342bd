// Where chunks may end: a hash of the last 16 and of the last 32 bytes, decided at every position
// independently, so that any number of vector lanes or threads find the same positions. Definition:
// docs/hashing.md.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "hashing/digest.h"
#include "hashing/gear_core.h"
#include "hashing/simd.h"

namespace braid::hashing {

// Expanded from a key; immutable. 16-bit entries are g16[b] = low16[b & 15] ^ high16[b >> 4], the 32-bit ones
// likewise: with nibble tables two byte shuffles look 16, 32 or 64 bytes up at once.
struct GearTables {
  // Prefilter bits that every set of tables must keep free of constant-byte runs (docs/hashing.md): the
  // fewest that any parameters use.
  static constexpr unsigned prefilter_bits_min = 10;

  // Plain arrays: the scanners must not share inline functions of the library with other files.
  std::uint16_t low16[16], high16[16];
  std::uint32_t low32[16], high32[16];
  std::uint16_t g16[256];
  std::uint32_t g32[256];
  unsigned attempt = 0;  // how many candidate tables were rejected before this one

  // The first tables in the key's stream that are not rejected.
  static GearTables from(const Key& key);
  // The candidate number `attempt`, rejected or not.
  static GearTables candidate(const Key& key, unsigned attempt);
  // A run of one byte value long enough to fill the window has everywhere the same H16. If that passes the
  // prefilter, each position of such a run is a candidate, and files of that byte cut at once and slowly.
  [[nodiscard]] bool passes_constant_runs(unsigned prefilter_bits) const;
};

// The first position p in [begin, end) of `data` that `mask` accepts, or `end`. begin >= 31: the windows of
// all positions lie inside data. Reads data[begin - 31, end).
using GearScan = std::size_t (*)(const GearTables& tables, const std::byte* data, std::size_t begin,
                                 std::size_t end, GearMask mask);
GearScan gear_scan(Simd simd);

namespace detail {
std::size_t scan_portable(const GearTables& tables, const std::byte* data, std::size_t begin, std::size_t end,
                          GearMask mask);
std::size_t scan_avx2(const GearTables& tables, const std::byte* data, std::size_t begin, std::size_t end,
                      GearMask mask);
std::size_t scan_avx512(const GearTables& tables, const std::byte* data, std::size_t begin, std::size_t end,
                        GearMask mask);
}  // namespace detail

}  // namespace braid::hashing
