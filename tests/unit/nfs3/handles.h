// File handles of the fake file system, in the layout that vfs::ExportTable expects (docs/filehandle.md).
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "vfs/export.h"
#include "vfs/types.h"

namespace braid::nfs3::test {

// 24 bytes: version 1, no flags, kernel type 1, export id, a constant where the signature goes, fileid.
vfs::FileHandle make_handle(vfs::ExportId id, std::uint64_t fileid);
// Nothing for a handle with another signature or length.
std::optional<std::uint64_t> fileid_of(base::BytesView handle);

}  // namespace braid::nfs3::test
