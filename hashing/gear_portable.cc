// One position after the other.
#include "hashing/gear_verify.h"

namespace braid::hashing::detail {

std::size_t scan_portable(const GearTables& tables, const std::byte* data, std::size_t begin, std::size_t end,
                          GearMask mask) {
  const std::uint16_t* g16 = tables.g16;
  GearVerifier verifier(tables.g32, data, mask.verify);
  std::uint32_t hash = 0;
  for (std::size_t i = begin + 1 - prefilter_window; i < begin; ++i)
    hash = gear_step(hash, g16[static_cast<unsigned char>(data[i])]);
  for (std::size_t p = begin; p < end; ++p) {
    hash = gear_step(hash, g16[static_cast<unsigned char>(data[p])]);
    if ((hash & mask.prefilter) == 0 && verifier.accepts(p)) return p;
  }
  return end;
}

}  // namespace braid::hashing::detail
