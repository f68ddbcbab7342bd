// The 32 bytes that name a chunk, and the 32 bytes of key that go into every name.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"

namespace braid::hashing {

inline constexpr std::size_t digest_bytes = 32;
inline constexpr std::size_t key_bytes = 32;

// What a hash function returned. Ordered as the bytes are.
struct Digest {
  std::array<std::byte, digest_bytes> bytes{};
  friend auto operator<=>(const Digest&, const Digest&) = default;
};

// Lower-case hexadecimal, first byte first, as b3sum and sha256sum print it.
std::string hex_of(const Digest& digest);

// The key of a store: it makes chunk ids and chunk boundaries unpredictable to those who do not have it.
class Key {
 public:
  // All bytes zero: ids and boundaries that everybody can compute.
  constexpr Key() = default;
  explicit Key(const std::array<std::byte, key_bytes>& bytes) : bytes_(bytes) {}
  // EINVAL unless there are exactly 32 bytes.
  static base::Result<Key> from(base::BytesView bytes);

  [[nodiscard]] const std::array<std::byte, key_bytes>& bytes() const { return bytes_; }
  friend bool operator==(const Key&, const Key&) = default;

 private:
  std::array<std::byte, key_bytes> bytes_{};
};

}  // namespace braid::hashing

// Digests are uniformly distributed already.
template <>
struct std::hash<braid::hashing::Digest> {
  std::size_t operator()(const braid::hashing::Digest& digest) const {
    std::size_t out = 0;
    std::memcpy(&out, digest.bytes.data(), sizeof out);
    return out;
  }
};
