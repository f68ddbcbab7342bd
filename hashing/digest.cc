#include "hashing/digest.h"

#include <algorithm>

namespace braid::hashing {

std::string hex_of(const Digest& digest) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  out.reserve(2 * digest_bytes);
  for (const std::byte b : digest.bytes) {
    out.push_back(digits[std::to_integer<std::size_t>(b >> 4)]);
    out.push_back(digits[std::to_integer<std::size_t>(b & std::byte{15})]);
  }
  return out;
}

base::Result<Key> Key::from(base::BytesView bytes) {
  if (bytes.size() != key_bytes) return base::fail(EINVAL);
  std::array<std::byte, key_bytes> copy;
  std::ranges::copy(bytes, copy.begin());
  return Key(copy);
}

}  // namespace braid::hashing
