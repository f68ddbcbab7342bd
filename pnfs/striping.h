// How the bytes of a file are spread over data servers (RFC 8881 section 13.4).
#pragma once

#include <cstdint>
#include <optional>

#include "base/arith.h"
#include "base/bytes.h"

namespace braid::pnfs {

// Where a byte lies in the object that a data server keeps for a file (RFC 8881 section 13.4.4).
enum class Packing : std::uint8_t {
  sparse,  // at its offset in the file: the object has holes where the other servers' bytes are
  dense,   // without holes
};

// Bytes [offset, offset + length) of the object with this index.
struct ObjectRange {
  std::uint32_t index = 0;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  friend bool operator==(const ObjectRange&, const ObjectRange&) = default;
};

// The layout of one file: objects 0 to width - 1, one on each of `width` data servers. Object i is that of
// the i-th server of the file's list. A value that valid() does not hold for is not asked anything else.
// Offsets are at most offset_max.
struct Striping {
  static constexpr std::uint32_t unit_step = 4096;
  static constexpr std::uint32_t unit_min = 64 * base::KiB;
  static constexpr std::uint32_t unit_max = base::GiB;
  // Handles of 64 bytes in the 4096 bytes that a Linux client has room for in a reply to LAYOUTGET.
  static constexpr std::uint32_t width_max = 56;
  static constexpr std::uint64_t offset_max = 0x7fff'ffff'ffff'ffff;

  std::uint32_t unit = base::MiB;  // bytes
  std::uint32_t width = 1;
  std::uint32_t first = 0;  // the object that has the first stripe unit of the file
  Packing packing = Packing::sparse;

  friend bool operator==(const Striping&, const Striping&) = default;

  // `unit` is a multiple of unit_step from unit_min to unit_max, there are 1 to width_max objects, `first` is
  // one of them; a dense layout has unit x width below 4 GiB, which a Linux client computes in 32 bits.
  [[nodiscard]] bool valid() const;

  // The object that has the byte of the file at `offset`.
  [[nodiscard]] std::uint32_t index_of(std::uint64_t offset) const;
  // Where in that object it is.
  [[nodiscard]] std::uint64_t to_object(std::uint64_t offset) const;
  // Where in the file the byte of an object is; nothing if that object has no such byte (sparse: the offset
  // is in another one's stripe unit), or the file none so far behind.
  [[nodiscard]] std::optional<std::uint64_t> to_file(std::uint32_t index, std::uint64_t object_offset) const;

  // The first byte of the object at `object_offset`, or behind it, that is one of the file; nothing: there is
  // none. And where the bytes of the file end that follow on one that is: in a dense object, nowhere.
  [[nodiscard]] std::optional<std::uint64_t> own_from(std::uint32_t index, std::uint64_t object_offset) const;
  [[nodiscard]] std::uint64_t own_end(std::uint64_t object_offset) const;

  // Of [offset, offset + length) of the file, what lies in one piece on one server, from `offset` on: the
  // next piece begins where this one ends. `length` > 0.
  [[nodiscard]] ObjectRange piece(std::uint64_t offset, std::uint64_t length) const;

  // The least size that a file has of which object `index` has `object_end` bytes; nothing if it has no such
  // end. A sparse object may end in a hole that ftruncate(2) made: its end is taken as it is.
  [[nodiscard]] std::optional<std::uint64_t> file_end(std::uint32_t index, std::uint64_t object_end) const;
  // How many bytes object `index` has at most, if the file has `size` bytes.
  [[nodiscard]] std::uint64_t object_end(std::uint32_t index, std::uint64_t size) const;

 private:
  // The stripe units of object `index` have the numbers position(index), position(index) + width, ...
  [[nodiscard]] std::uint32_t position(std::uint32_t index) const { return (index + width - first) % width; }
  [[nodiscard]] std::uint64_t stripe_bytes() const { return std::uint64_t{unit} * width; }
};

}  // namespace braid::pnfs
