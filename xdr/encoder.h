// Writes XDR (RFC 4506) into small slabs; bulk data goes in by reference.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/bytes.h"
#include "io/payload.h"

namespace braid::xdr {

// Where a DDP-eligible item (RFC 8166 section 3.4.2) lies in an encoded message: data that a transport may
// place into memory of the peer, apart from the message. `offset` is that of its first byte. An item may be
// empty: it still takes its turn among the places that the peer offered (RFC 8267 section 5.4.1).
struct DataItem {
  std::size_t offset = 0;
  std::size_t length = 0;
};

// An encoded message and the eligible items in it, in order. At most `items_max` items are noted; further
// ones are plain bytes.
struct Message {
  static constexpr std::size_t items_max = 8;
  io::Payload bytes;
  std::array<DataItem, items_max> items{};
  std::size_t item_count = 0;
};

// Belongs to the thread of its cursor. Several may be open at a time, also across suspensions; what the last
// piece of memory of one has left is then not given back before the message is gone.
class Encoder {
 public:
  // Room for a number that is known only later, such as how many items follow.
  class Blank {
   public:
    // Any number of times while the message lives. Does nothing if there was no memory for the room.
    void fill(std::uint32_t value) const {
      if (at_ == nullptr) return;
      if constexpr (std::endian::native == std::endian::little) value = __builtin_bswap32(value);
      std::memcpy(at_, &value, 4);
    }

   private:
    friend class Encoder;
    std::byte* at_ = nullptr;
  };

  // `headroom` bytes are left free at the front for the transport (a record mark).
  explicit Encoder(io::SlabCursor& cursor, std::size_t headroom = 0);
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  void u32(std::uint32_t value) {
    if (end_ - at_ < 4) [[unlikely]]
      if (!grow(4)) return;
    if constexpr (std::endian::native == std::endian::little) value = __builtin_bswap32(value);
    std::memcpy(at_, &value, 4);
    at_ += 4;
  }
  void u64(std::uint64_t value) {
    if (end_ - at_ < 8) [[unlikely]]
      if (!grow(8)) return;
    if constexpr (std::endian::native == std::endian::little) value = __builtin_bswap64(value);
    std::memcpy(at_, &value, 8);
    at_ += 8;
  }
  [[nodiscard]] Blank blank_u32() {
    u32(0);
    Blank blank;
    if (ok_) blank.at_ = at_ - 4;
    return blank;
  }
  void i32(std::int32_t value) { u32(std::bit_cast<std::uint32_t>(value)); }
  void i64(std::int64_t value) { u64(std::bit_cast<std::uint64_t>(value)); }
  void boolean(bool value) { u32(value ? 1 : 0); }
  // Bytes with zero padding, without a length.
  void opaque_fixed(base::BytesView bytes);
  // Length, bytes, padding.
  void opaque(base::BytesView bytes);
  void text(std::string_view text) { opaque(base::bytes_of(text)); }
  // Length, the data by reference, padding.
  void payload(const io::Payload& data);
  // The same two, noted as a DataItem.
  void ddp_payload(const io::Payload& data) {
    note(data.size());
    payload(data);
  }
  void ddp_text(std::string_view bytes) {
    note(bytes.size());
    text(bytes);
  }
  // What another encoder made, with its DataItems: long and piped ranges by reference, short ones copied,
  // since each range costs the transport an entry.
  void append(const Message& encoded);

  // Bytes that are encoded already, copied; what is in a pipe goes in by reference.
  void copied(const io::Payload& bytes);

  // Bytes written so far, headroom included.
  [[nodiscard]] std::size_t size() const { return flushed_ + static_cast<std::size_t>(at_ - begin_); }
  // The same bytes, as long as nothing more is written.
  [[nodiscard]] const io::Payload& written() {
    flush();
    return message_.bytes;
  }
  // False once memory for the message could not be had (ENOBUFS of the slab pool); what was written is then
  // useless.
  [[nodiscard]] bool ok() const { return ok_; }
  // Ends the message. The encoder is empty afterwards.
  Message finish();

 private:
  bool grow(std::size_t bytes);
  // The next item is DDP-eligible.
  void note(std::size_t bytes) {
    if (message_.item_count < Message::items_max) message_.items[message_.item_count++] = {size() + 4, bytes};
  }
  void flush();
  void copy(base::BytesView bytes, std::size_t room_after);
  void refer(const io::SlabRange& range);

  io::SlabCursor& cursor_;
  Message message_;
  io::SlabRange range_;         // being filled
  std::byte* begin_ = nullptr;  // of range_
  std::byte* at_ = nullptr;
  std::byte* end_ = nullptr;
  std::size_t flushed_ = 0;  // bytes already in message_
  bool ok_ = true;
};

}  // namespace braid::xdr
