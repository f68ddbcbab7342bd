// Attributes that a client sets: from a fattr4 to what file systems take.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/result.h"
#include "nfs4/attributes/bitmap.h"
#include "nfs4/nfs4.x.h"
#include "vfs/types.h"
#include "xdr/arena.h"

namespace braid::nfs4::attributes {

// A decoded fattr4. Views are into the call.
struct SetRequest {
  Bitmap named;
  std::optional<std::uint32_t> mode;   // of mode, or of mode_umask
  std::optional<std::uint32_t> umask;  // with mode_umask (RFC 8275)
  std::optional<mode_masked4> mode_masked;
  std::optional<std::uint64_t> size;
  std::optional<std::string_view> owner;
  std::optional<std::string_view> group;
  std::optional<std::span<const nfsace4>> acl;
  vfs::SetTime atime;
  vfs::SetTime mtime;
  // RFC 9754 section 5: what the holder of a delegation says that the times are.
  std::optional<vfs::Time> delegated_atime;
  std::optional<vfs::Time> delegated_mtime;
};

// `supported`: every attribute of this object (table.h); `settable`: those that this operation may set.
// NFS4ERR_ATTRNOTSUPP for one that is not supported, NFS4ERR_INVAL for one that may not be set here or has an
// impossible value, NFS4ERR_BADXDR when the values are not exactly those of the bitmap.
base::Result<SetRequest, nfsstat4> decode_settable(const fattr4& attributes, const Bitmap& supported,
                                                   const Bitmap& settable, xdr::Arena& arena);

}  // namespace braid::nfs4::attributes
