#include "hashing/gear.h"

#include <array>
#include <cstring>

#include "hashing/blake3.h"

namespace braid::hashing {
namespace {

constexpr std::string_view table_context = "braid 2026-11 chunk boundaries v1";
constexpr std::size_t candidate_bytes = 2 * 16 * sizeof(std::uint16_t) + 2 * 16 * sizeof(std::uint32_t);

}  // namespace

GearTables GearTables::candidate(const Key& key, unsigned attempt) {
  Blake3 stream(blake3::derive_key_mode(table_context));
  stream.update(key.bytes());
  std::array<std::byte, candidate_bytes> bytes;
  stream.output(attempt * candidate_bytes, bytes);
  GearTables out;
  out.attempt = attempt;
  const std::byte* from = bytes.data();
  const auto take = [&from](auto& table) {
    std::memcpy(table, from, sizeof table);
    from += sizeof table;
  };
  take(out.low16);
  take(out.high16);
  take(out.low32);
  take(out.high32);
  for (std::size_t b = 0; b < 256; ++b) {
    out.g16[b] = static_cast<std::uint16_t>(out.low16[b & 15] ^ out.high16[b >> 4]);
    out.g32[b] = out.low32[b & 15] ^ out.high32[b >> 4];
  }
  return out;
}

bool GearTables::passes_constant_runs(unsigned prefilter_bits) const {
  const auto mask = static_cast<std::uint16_t>(0xffffU << (16 - prefilter_bits));
  for (const std::uint16_t entry : g16) {
    std::uint32_t hash = 0;
    for (unsigned i = 0; i < prefilter_window; ++i) hash = gear_step(hash, entry);
    if ((hash & mask) == 0) return true;
  }
  return false;
}

GearTables GearTables::from(const Key& key) {
  for (unsigned attempt = 0;; ++attempt) {
    GearTables out = candidate(key, attempt);
    if (!out.passes_constant_runs(prefilter_bits_min)) return out;
  }
}

GearScan gear_scan([[maybe_unused]] Simd simd) {
#if defined(__x86_64__)
  if (simd == Simd::avx512) return detail::scan_avx512;
  if (simd == Simd::avx2) return detail::scan_avx2;
#endif
  return detail::scan_portable;
}

}  // namespace braid::hashing
