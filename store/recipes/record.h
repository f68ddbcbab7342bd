// The record of a sealed file: the extended attribute that says where its recipe begins.
// docs/format-store.md is the reference.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/result.h"
#include "hashing/digest.h"
#include "store/chunks/keys.h"
#include "store/chunks/location.h"
#include "vfs/sealed.h"

namespace braid::store {

// The name of the attribute.
inline constexpr const char* record_name = vfs::sealed_record.data();

struct Record {
  hashing::Digest root{};
  Location at{};
  std::uint64_t mapped = 0;  // bytes of the file that are in chunks
  // The root node's pending steps may not all be done: who reads obeys them.
  bool pending = false;
  // They are since the file is being unsealed: what the stub has within them need not be whole.
  bool unsealing = false;

  // When nothing is pending.
  [[nodiscard]] Record done() const {
    Record out = *this;
    out.pending = out.unsealing = false;
    return out;
  }

  friend bool operator==(const Record&, const Record&) = default;
};

enum class RecordFault : std::uint8_t {
  damaged,  // or of another store, or copied from another file: only the key tells a record from noise
  too_new,  // of a later version of braid
};

// With one byte more ext4 would take a block of its own for it, in inodes of 256 bytes.
inline constexpr std::size_t record_bytes = 60;

base::Bytes encode(const Record& record, const StoreKeys& keys, const KernelHandle& file);
base::Result<Record, RecordFault> decode_record(base::BytesView bytes, const StoreKeys& keys,
                                                const KernelHandle& file);
// The same of one that may have been copied from another file: nothing says that a store has made it.
base::Result<Record, RecordFault> decode_copied_record(base::BytesView bytes);

}  // namespace braid::store
