// Byte ranges as LOCK, LOCKT and LOCKU name them.
#pragma once

#include <cstdint>
#include <optional>

#include "vfs/lock_table.h"

namespace braid::nfs4::state {

using vfs::ByteRange;
using vfs::HeldRange;
using vfs::whole_file;
using LockMode = vfs::LockType;  // read: shared; write: exclusive

// A length of all ones reaches to the end of the file, however long it becomes. Nothing (NFS4ERR_INVAL) for a
// length of zero and what ends above 2^64 - 1 (RFC 8881 18.10.3).
inline std::optional<ByteRange> range_of(std::uint64_t offset, std::uint64_t length) {
  return vfs::bytes_of({.offset = offset, .length = length});
}
// The other way round; what reaches 2^64 - 1 has a length of all ones.
inline std::uint64_t length_of(const ByteRange& range) { return vfs::range_of(range).length; }

}  // namespace braid::nfs4::state
