// Reads XDR (RFC 4506) out of a payload that may be spread over several slabs. Bytes in a pipe can only be
// the data of a payload field: what asks to see them is told that the message ends there.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "base/bytes.h"
#include "io/payload.h"
#include "xdr/arena.h"

namespace braid::xdr {

enum class Error : std::uint8_t {
  none,
  truncated,  // the message ends inside an item
  limit,      // a length is above the limit of its field
  value,      // an enum, bool or union discriminant that the protocol does not define
  memory,     // the call's arena is used up
};

// Every read returns false on the first error and from then on; error() says why. Lengths are compared with
// their limit and with what is left before anything is allocated. Views point into the message, or into the
// arena where an item straddles two slabs; they live as long as both. Padding bytes are skipped, whatever
// their value (RFC 4506 section 3 asks senders for zeros).
class Decoder {
 public:
  Decoder(const io::Payload& message, Arena& arena, std::size_t offset = 0)
      : message_(&message), arena_(&arena), left_(message.size()) {
    skip(offset);
  }

  [[nodiscard]] Error error() const { return error_; }
  [[nodiscard]] bool ok() const { return error_ == Error::none; }
  // Bytes not yet read; at the end of the arguments 0 unless the peer sent more than its type holds.
  [[nodiscard]] std::size_t remaining() const { return left_; }
  // Byte position in the message of the next item.
  [[nodiscard]] std::size_t position() const { return message_->size() - left_; }
  [[nodiscard]] Arena& arena() const { return *arena_; }

  [[gnu::always_inline]] bool u32(std::uint32_t& out) {
    if (static_cast<std::size_t>(end_ - at_) >= 4) [[likely]] {
      std::memcpy(&out, at_, 4);
      at_ += 4;
      left_ -= 4;
    } else if (!copy(&out, 4)) {
      return false;
    }
    if constexpr (std::endian::native == std::endian::little) out = __builtin_bswap32(out);
    return true;
  }
  bool u64(std::uint64_t& out) {
    if (static_cast<std::size_t>(end_ - at_) >= 8) [[likely]] {
      std::memcpy(&out, at_, 8);
      at_ += 8;
      left_ -= 8;
    } else if (!copy(&out, 8)) {
      return false;
    }
    if constexpr (std::endian::native == std::endian::little) out = __builtin_bswap64(out);
    return true;
  }
  bool i32(std::int32_t& out) {
    std::uint32_t bits;
    if (!u32(bits)) return false;
    out = std::bit_cast<std::int32_t>(bits);
    return true;
  }
  bool i64(std::int64_t& out) {
    std::uint64_t bits;
    if (!u64(bits)) return false;
    out = std::bit_cast<std::int64_t>(bits);
    return true;
  }
  // RFC 4506 4.4: only 0 and 1 are defined.
  [[gnu::always_inline]] bool boolean(bool& out) {
    std::uint32_t bits;
    if (!u32(bits)) return false;
    if (bits > 1) return fail(Error::value);
    out = bits == 1;
    return true;
  }
  // Opaque data of fixed length with its padding.
  bool opaque_fixed(base::MutableBytes out);
  // Variable-length opaque data and strings: a view of at most `limit` bytes.
  bool opaque(base::BytesView& out, std::uint32_t limit);
  bool text(std::string_view& out, std::uint32_t limit);
  // Bulk data: shares the slabs of the message, copies nothing.
  bool payload(io::Payload& out, std::uint32_t limit);
  // The same and text() for DDP-eligible items (RFC 8166 section 3.1), which may have come apart from the
  // message.
  bool ddp_payload(io::Payload& out, std::uint32_t limit);
  bool ddp_text(std::string_view& out, std::uint32_t limit);
  // The n-th eligible item is the n-th of these, unless that is empty: then it stands in the message. They
  // live as long as what is decoded.
  void set_apart(std::span<const io::Payload> items) { apart_ = items; }
  // The count of an array whose elements take at least `element_bytes_min` (> 0) bytes on the wire.
  bool count(std::uint32_t& out, std::uint32_t limit, std::size_t element_bytes_min);
  // For generated code: records the first error, returns false.
  bool fail(Error why) {
    if (error_ == Error::none) error_ = why;
    at_ = end_ = nullptr;
    left_ = 0;
    next_range_ = message_->ranges().size();
    return false;
  }

 private:
  bool length(std::uint32_t& out, std::uint32_t limit);
  bool copy(void* to, std::size_t bytes);
  bool skip(std::size_t bytes);
  bool next_range();
  // The next eligible item, if it came apart; null if it stands here.
  const io::Payload* next_apart();
  // The length of an item that came apart: no more than its length stands here, not even its padding.
  bool length_apart(const io::Payload& item, std::uint32_t limit);

  const io::Payload* message_;
  Arena* arena_;
  const std::byte* at_ = nullptr;   // next byte in the current range
  const std::byte* end_ = nullptr;  // end of the current range
  std::size_t piped_ = 0;           // of the current range, when it is in a pipe
  std::size_t next_range_ = 0;
  std::size_t left_;
  std::span<const io::Payload> apart_;  // not yet taken
  Error error_ = Error::none;
};

}  // namespace braid::xdr
