// Data for tests, the same on every machine.
#pragma once

#include <cstdint>
#include <cstring>
#include <random>

#include "base/bytes.h"

namespace braid::hashing::test {

inline base::Bytes random_bytes(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  base::Bytes out((count + 7) / 8 * 8);
  for (std::size_t i = 0; i < out.size(); i += 8) {
    const std::uint64_t word = random();
    std::memcpy(out.data() + i, &word, sizeof word);
  }
  out.resize(count);
  return out;
}

}  // namespace braid::hashing::test
