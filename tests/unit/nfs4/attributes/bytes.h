// Bytes as hexadecimal text, and values of attributes as clients send them.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "io/slab.h"
#include "nfs4/attributes/bitmap.h"
#include "nfs4/nfs4.x.h"

namespace braid::nfs4::test {

inline std::string to_hex(base::BytesView bytes) {
  static constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto value = std::to_integer<unsigned>(bytes[i]);
    text += digits[value >> 4U];
    text += digits[value & 15U];
    if (i % 4 == 3 && i + 1 < bytes.size()) text += ' ';
  }
  return text;
}

// Anything but hexadecimal digits is ignored.
inline base::Bytes hex(std::string_view text) {
  base::Bytes bytes;
  int high = -1;
  for (const char c : text) {
    int digit = -1;
    if (c >= '0' && c <= '9') digit = c - '0';
    if (c >= 'a' && c <= 'f') digit = c - 'a' + 10;
    if (digit < 0) continue;
    if (high < 0) {
      high = digit;
      continue;
    }
    bytes.push_back(static_cast<std::byte>(high * 16 + digit));
    high = -1;
  }
  return bytes;
}

// Keeps what a fattr4 refers to.
class Fattr {
 public:
  Fattr(io::SlabPool& pool, std::vector<std::uint32_t> words, std::string_view values)
      : Fattr(pool, std::move(words), hex(values)) {}
  Fattr(io::SlabPool& pool, const Bitmap& map, std::string_view values)
      : Fattr(pool, {map.wire().begin(), map.wire().end()}, hex(values)) {}
  Fattr(io::SlabPool& pool, std::vector<std::uint32_t> words, const base::Bytes& values)
      : words_(std::move(words)) {
    wire.attrmask = words_;
    if (values.empty()) return;
    // In pieces of four bytes, each in a slab range of its own.
    io::SlabCursor cursor(pool);
    for (std::size_t at = 0; at < values.size(); at += 4) {
      const std::size_t bytes = std::min<std::size_t>(4, values.size() - at);
      auto range = *cursor.carve(bytes);
      std::memcpy(range.writable().data(), values.data() + at, bytes);
      wire.attr_vals.append(std::move(range));
    }
  }
  Fattr(const Fattr&) = delete;
  Fattr& operator=(const Fattr&) = delete;

  fattr4 wire;

 private:
  std::vector<std::uint32_t> words_;
};

}  // namespace braid::nfs4::test
