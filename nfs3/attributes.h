// Between the file system's attributes and those of NFSv3 (RFC 1813 2.6).
#pragma once

#include <optional>

#include "base/result.h"
#include "nfs3/nfs3.x.h"
#include "vfs/types.h"

namespace braid::nfs3 {

// Seconds before 1970 or after 2106 do not fit nfstime3: they become the nearest ones that do.
nfstime3 nfstime3_of(const vfs::Time& time);
// inval when the nanoseconds are a second or more.
base::Result<vfs::Time, vfs::Error> time_of(const nfstime3& time);

ftype3 ftype3_of(vfs::FileType type);
fattr3 fattr3_of(const vfs::Attributes& attributes);
// Without attributes when they could not be had: the RFC lets a server leave them out.
post_op_attr post_op_attr_of(const std::optional<vfs::Attributes>& attributes);
post_op_attr post_op_attr_of(const base::Result<vfs::Attributes, vfs::Error>& attributes);
wcc_data wcc_data_of(const vfs::Wcc& wcc);

// inval for an impossible time, fbig for a size beyond the largest file offset. Of the mode only 07777
// counts.
base::Result<vfs::SetAttributes, vfs::Error> set_attributes_of(const sattr3& wanted);

}  // namespace braid::nfs3
