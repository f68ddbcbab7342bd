#include "hashing/simd.h"

#include <array>

namespace braid::hashing {

std::string_view name_of(Simd simd) {
  switch (simd) {
    case Simd::portable:
      return "portable";
    case Simd::avx2:
      return "avx2";
    case Simd::avx512:
      return "avx512";
  }
  return "portable";
}

std::span<const Simd> available_simd() {
  static constexpr std::array all{Simd::avx512, Simd::avx2, Simd::portable};
  const std::span<const Simd> levels(all);
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return levels;
  if (__builtin_cpu_supports("avx2")) return levels.subspan(1);
#endif
  return levels.subspan(2);
}

}  // namespace braid::hashing
