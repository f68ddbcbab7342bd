// The shape of the files of a ClientStore (docs/format-recovery.md): a magic of eight letters, fields in
// big-endian order, and a checksum over all that.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/bytes.h"
#include "base/siphash.h"

namespace braid::nfs4::recovery {

// Finds damage, not forgery: the key is public.
inline std::uint64_t checksum_of(base::BytesView content) { return base::siphash24({0, 0}, content); }

class FieldWriter {
 public:
  explicit FieldWriter(std::string_view magic) {
    const base::BytesView bytes = base::bytes_of(magic);
    content_.assign(bytes.begin(), bytes.end());
  }
  void u32(std::uint32_t value) { number(value, 4); }
  void u64(std::uint64_t value) { number(value, 8); }
  // Length and bytes.
  void bytes(base::BytesView value) {
    u32(static_cast<std::uint32_t>(value.size()));
    content_.insert(content_.end(), value.begin(), value.end());
  }
  // With the checksum; to be called once.
  base::Bytes finish() {
    u64(checksum_of(content_));
    return std::move(content_);
  }

 private:
  void number(std::uint64_t value, int size) {
    for (int shift = 8 * (size - 1); shift >= 0; shift -= 8)
      content_.push_back(static_cast<std::byte>(value >> shift));
  }
  base::Bytes content_;
};

// Reads zeros after the first mistake; at_end() says whether all was well.
class FieldReader {
 public:
  FieldReader(base::BytesView content, std::string_view magic) {
    constexpr std::size_t checksum_bytes = 8;
    if (content.size() < magic.size() + checksum_bytes || base::text_of(content.first(magic.size())) != magic)
      return;
    const base::BytesView summed = content.first(content.size() - checksum_bytes);
    left_ = content.last(checksum_bytes);
    good_ = true;
    good_ = u64() == checksum_of(summed);
    left_ = summed.subspan(magic.size());
  }
  std::uint32_t u32() { return static_cast<std::uint32_t>(number(4)); }
  std::uint64_t u64() { return number(8); }
  base::Bytes bytes() {
    const std::uint32_t length = u32();
    if (!take(length)) return {};
    const base::BytesView value = left_.first(length);
    left_ = left_.subspan(length);
    return {value.begin(), value.end()};
  }
  [[nodiscard]] bool at_end() const { return good_ && left_.empty(); }

 private:
  bool take(std::size_t size) {
    good_ = good_ && left_.size() >= size;
    return good_;
  }
  std::uint64_t number(std::size_t size) {
    if (!take(size)) return 0;
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < size; ++i) value = (value << 8) | std::to_integer<std::uint64_t>(left_[i]);
    left_ = left_.subspan(size);
    return value;
  }

  base::BytesView left_;
  bool good_ = false;
};

}  // namespace braid::nfs4::recovery
