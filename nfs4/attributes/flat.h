// Attribute values lie in one opaque of a fattr4 (RFC 8881 section 3.3.13): flat memory, whose length is
// known only once they are written. Hence a writer into memory of a known size, with places to fill in later.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/bytes.h"

namespace braid::nfs4 {

// Writes XDR into memory of the caller. Past its end nothing is written, and ok() is false from then on.
class FlatWriter {
 public:
  explicit FlatWriter(base::MutableBytes memory) : memory_(memory) {}

  void u32(std::uint32_t value) {
    if (std::byte* to = take(4)) store(to, value);
  }
  void u64(std::uint64_t value) {
    u32(static_cast<std::uint32_t>(value >> 32U));
    u32(static_cast<std::uint32_t>(value));
  }
  void i64(std::int64_t value) { u64(std::bit_cast<std::uint64_t>(value)); }
  void boolean(bool value) { u32(value ? 1 : 0); }
  // Bytes with zero padding, without a length.
  void opaque_fixed(base::BytesView bytes) {
    const std::size_t padded = (bytes.size() + 3) / 4 * 4;
    std::byte* to = take(padded);
    if (to == nullptr || padded == 0) return;
    std::memset(to + padded - 4, 0, 4);
    std::memcpy(to, bytes.data(), bytes.size());
  }
  // Length, bytes, padding.
  void opaque(base::BytesView bytes) {
    u32(static_cast<std::uint32_t>(bytes.size()));
    opaque_fixed(bytes);
  }
  void text(std::string_view text) { opaque(base::bytes_of(text)); }

  // Room for a u32 that becomes known later: fill(place, value).
  [[nodiscard]] std::size_t place() {
    const std::size_t at = used_;
    u32(0);
    return at;
  }
  void fill(std::size_t place, std::uint32_t value) {
    if (ok_) store(memory_.data() + place, value);
  }
  // Forgets what was written from `size` on, and that it did not fit.
  void rewind(std::size_t size) {
    used_ = size;
    ok_ = true;
  }

  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] std::size_t size() const { return used_; }
  [[nodiscard]] base::BytesView written() const { return memory_.first(used_); }

 private:
  static void store(std::byte* to, std::uint32_t value) {
    if constexpr (std::endian::native == std::endian::little) value = __builtin_bswap32(value);
    std::memcpy(to, &value, 4);
  }
  std::byte* take(std::size_t bytes) {
    if (!ok_ || bytes > memory_.size() - used_) {
      ok_ = false;
      return nullptr;
    }
    std::byte* at = memory_.data() + used_;
    used_ += bytes;
    return at;
  }

  base::MutableBytes memory_;
  std::size_t used_ = 0;
  bool ok_ = true;
};

}  // namespace braid::nfs4
