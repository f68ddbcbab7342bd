// Record marking (RFC 5531 section 11): cuts a byte stream into records, without copying them. Knows no
// sockets.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "io/payload.h"
#include "io/slab.h"

namespace braid::rpc {

// In the four bytes before a fragment; the other bits are its length.
inline constexpr std::uint32_t last_fragment_bit = 0x8000'0000;

struct RecordLimits {
  std::size_t record_bytes_max = 0;
  // Fragments without data are legal, so some are taken; an endless row of them is not.
  std::uint32_t empty_fragments_max = 64;
};

// The stream arrives in pieces of slabs. What is read of an incomplete record is kept here by reference.
class RecordReader {
 public:
  // More of an incomplete record than this stays in its slab while the peer is waited for; less is copied
  // aside, so that a slow peer does not hold a slab.
  static constexpr std::size_t park_bytes_max = 512;

  enum class Next : std::uint8_t {
    record,      // one whole record; call again, there may be more in the input
    incomplete,  // the input is used up
    too_long,    // the stream is of no use from here on: a record is above the limit
    endless,     // same: too many fragments without data
  };

  explicit RecordReader(const RecordLimits& limits) : limits_(limits) {}

  // Reads on in `input`, dropping from its front what has been read. The reader may move bytes of small
  // fragments inside the part already read, so nobody else may look at `input` yet.
  Next next(io::SlabRange& input, io::Payload& record);

  // Some of a record has been read.
  [[nodiscard]] bool partial() const { return mark_bytes_ > 0 || in_fragment_ || fragments_ > 0; }
  // Bytes that are certain to come next: the rest of the current fragment.
  [[nodiscard]] std::size_t fragment_remaining() const { return in_fragment_ ? fragment_left_ : 0; }
  // What has been read of the incomplete record.
  [[nodiscard]] const io::Payload& held() const { return record_; }
  [[nodiscard]] std::size_t held_bytes() const { return record_.size(); }
  // Takes `piece`, which did not come through the input, as the next bytes of the current fragment: at most
  // fragment_remaining().
  void append(io::SlabRange piece);

  // Copies the incomplete record, of at most park_bytes_max, aside and lets go of its slab.
  void park();
  // Bytes that unpark() needs.
  [[nodiscard]] std::size_t parked_bytes() const { return parked_.size(); }
  // Puts them back at the front of a slab, whose next bytes the stream goes on with.
  void unpark(const io::SlabRange& to);

 private:
  bool read_mark(io::SlabRange& input);
  Next begin_fragment();
  void take(io::SlabRange& input);

  RecordLimits limits_;
  std::array<std::byte, 4> mark_{};
  std::uint32_t mark_bytes_ = 0;      // of mark_ that have been read
  bool in_fragment_ = false;          // the mark has been read, its fragment not wholly
  bool last_ = false;                 // the current fragment ends the record
  std::uint32_t fragment_bytes_ = 0;  // of the current fragment
  std::uint32_t fragment_left_ = 0;
  std::uint32_t fragments_ = 0;        // read completely, of the current record
  std::uint32_t empty_fragments_ = 0;  // of the current record
  io::Payload record_;                 // read so far
  base::Bytes parked_;
};

}  // namespace braid::rpc
