// Which vector instructions this machine has; kernels for each are in source files of their own.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace braid::hashing {

enum class Simd : std::uint8_t {
  portable,  // what every x86-64 (or other) machine can do
  avx2,
  avx512,  // F, BW, DQ and VL
};
std::string_view name_of(Simd simd);

// The levels that can run here, the best one first; never empty, `portable` is always among them.
std::span<const Simd> available_simd();
inline Simd best_simd() { return available_simd().front(); }

}  // namespace braid::hashing
