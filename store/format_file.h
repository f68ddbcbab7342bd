// The file FORMAT of a store's directory: what the store is, and what a program must know to use it.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "hashing/digest.h"
#include "store/chunks/container_format.h"

namespace braid::store {

struct FormatFile {
  static constexpr unsigned version = 1;
  // Bits of `required` that this program knows. Who does not know one may not even read.
  static constexpr std::uint64_t forwarding = 1;      // containers were rewritten
  static constexpr std::uint64_t compression = 2;     // chunks may be compressed
  static constexpr std::uint64_t for_benchmarks = 4;  // StoreOptions::for_benchmarks
  static constexpr std::uint64_t groups = 8;          // chunks may be in groups
  static constexpr std::uint64_t known_features = forwarding | compression | for_benchmarks | groups;

  StoreId store{};
  hashing::Digest key{};       // StoreKeys::fingerprint()
  std::uint64_t required = 0;  // features
  std::uint64_t optional = 0;  // features that who does not know them may ignore

  friend bool operator==(const FormatFile&, const FormatFile&) = default;
};

std::string encode(const FormatFile& format);
// The error is a sentence without its subject: "is damaged", "is of a later version of braid".
std::expected<FormatFile, std::string> decode_format(std::string_view text);

// Lower-case hexadecimal, first byte first.
std::string hex_text(base::BytesView bytes);
// False unless there are exactly as many digits as `to` takes.
bool parse_hex(std::string_view text, base::MutableBytes to);

}  // namespace braid::store
