#include "base/xxhash64.h"

#include <bit>
#include <cstddef>
#include <cstring>

namespace braid::base {
namespace {

constexpr std::uint64_t xx_prime_1 = 0x9e3779b185ebca87, xx_prime_2 = 0xc2b2ae3d27d4eb4f,
                        xx_prime_3 = 0x165667b19e3779f9, xx_prime_4 = 0x85ebca77c2b2ae63,
                        xx_prime_5 = 0x27d4eb2f165667c5;

template <class T>
T load_le(BytesView from) {
  T value;
  std::memcpy(&value, from.data(), sizeof value);
  if constexpr (std::endian::native == std::endian::big)
    value = sizeof value == 4 ? static_cast<T>(__builtin_bswap32(static_cast<std::uint32_t>(value)))
                              : static_cast<T>(__builtin_bswap64(value));
  return value;
}

std::uint64_t xx_round(std::uint64_t lane, std::uint64_t input) {
  return std::rotl(lane + input * xx_prime_2, 31) * xx_prime_1;
}

std::uint64_t xx_merge(std::uint64_t hash, std::uint64_t lane) {
  return (hash ^ xx_round(0, lane)) * xx_prime_1 + xx_prime_4;
}

// The whole stripes of 32 bytes, which it takes from the front of `bytes`.
std::uint64_t xx_stripes(BytesView& bytes, std::uint64_t seed) {
  std::uint64_t a = seed + xx_prime_1 + xx_prime_2, b = seed + xx_prime_2, c = seed, d = seed - xx_prime_1;
  for (; bytes.size() >= 32; bytes = bytes.subspan(32)) {
    a = xx_round(a, load_le<std::uint64_t>(bytes));
    b = xx_round(b, load_le<std::uint64_t>(bytes.subspan(8)));
    c = xx_round(c, load_le<std::uint64_t>(bytes.subspan(16)));
    d = xx_round(d, load_le<std::uint64_t>(bytes.subspan(24)));
  }
  const std::uint64_t hash = std::rotl(a, 1) + std::rotl(b, 7) + std::rotl(c, 12) + std::rotl(d, 18);
  return xx_merge(xx_merge(xx_merge(xx_merge(hash, a), b), c), d);
}

}  // namespace

std::uint64_t xxhash64(BytesView bytes, std::uint64_t seed) {
  const std::uint64_t length = bytes.size();
  std::uint64_t hash = length >= 32 ? xx_stripes(bytes, seed) : seed + xx_prime_5;
  hash += length;
  for (; bytes.size() >= 8; bytes = bytes.subspan(8))
    hash = std::rotl(hash ^ xx_round(0, load_le<std::uint64_t>(bytes)), 27) * xx_prime_1 + xx_prime_4;
  if (bytes.size() >= 4) {
    hash = std::rotl(hash ^ (load_le<std::uint32_t>(bytes) * xx_prime_1), 23) * xx_prime_2 + xx_prime_3;
    bytes = bytes.subspan(4);
  }
  for (const std::byte byte : bytes)
    hash = std::rotl(hash ^ (std::to_integer<std::uint64_t>(byte) * xx_prime_5), 11) * xx_prime_1;
  hash = (hash ^ (hash >> 33U)) * xx_prime_2;
  hash = (hash ^ (hash >> 29U)) * xx_prime_3;
  return hash ^ (hash >> 32U);
}

}  // namespace braid::base
