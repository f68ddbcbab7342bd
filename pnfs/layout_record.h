// Where the bytes of a file are: the record that a striped file has in an extended attribute of its own on
// the metadata server. docs/format-pnfs-layout.md is the reference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/strong.h"
#include "pnfs/data_handle.h"
#include "pnfs/keys.h"
#include "pnfs/striping.h"

namespace braid::pnfs {

// The name of the extended attribute.
inline constexpr std::string_view layout_record_name = "trusted.braid.layout";

// The metadata server counts its data servers; a number is never given to another one.
struct ServerNumberTag;
using ServerNumber = base::Strong<ServerNumberTag, std::uint32_t>;

struct LayoutRecord {
  ObjectId object;
  Epoch epoch;
  Striping striping;
  std::vector<ServerNumber> servers;  // of object 0, 1, ...: striping.width of them

  friend bool operator==(const LayoutRecord&, const LayoutRecord&) = default;
};

// Why a record is not what it should be.
enum class RecordFault : std::uint8_t {
  damaged,  // no record, or bytes of it have changed
  foreign,  // signed, but for another file: the attribute was copied
  too_new,  // of a later version of braid
};

// Makes and verifies records. They are signed together with the file that they are for, so that the copy of
// an attribute leads nobody to another file's bytes. The key is the metadata server's own and stays the same
// for ever. Immutable, so thread-safe.
class LayoutRecordCodec {
 public:
  static constexpr std::uint8_t version = 1;
  static constexpr std::size_t header_bytes = 24;
  static constexpr std::size_t bytes_max =
      header_bytes + 4 * std::size_t{Striping::width_max} + 2 * Mac::bytes_count;

  explicit LayoutRecordCodec(const hashing::Key& key) : key_(key) {}

  // `file`: what names the file for ever, at most 64 KiB. The striping is valid(), with as many servers as it
  // has objects.
  [[nodiscard]] base::Bytes seal(const LayoutRecord& record, base::BytesView file) const;
  [[nodiscard]] base::Result<LayoutRecord, RecordFault> open(base::BytesView bytes,
                                                             base::BytesView file) const;

 private:
  hashing::Key key_;
};

}  // namespace braid::pnfs
