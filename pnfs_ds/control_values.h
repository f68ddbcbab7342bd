// Values of control.x, as the data server has them.
#pragma once

#include "base/result.h"
#include "nfs4/status.h"
#include "pnfs/control.x.h"
#include "pnfs/object.h"
#include "vfs/types.h"

namespace braid::pnfs_ds {

constexpr pnfs::data_status number(nfs4::nfsstat4 status) { return static_cast<pnfs::data_status>(status); }
inline pnfs::data_status number(vfs::Error error) { return number(nfs4::status_of(error)); }
template <class T>
pnfs::data_status number(const base::Result<T, vfs::Error>& result) {
  return result ? number(nfs4::nfsstat4::NFS4_OK) : number(result.error());
}

inline pnfs::ObjectKey key_of(const pnfs::object_key& key) { return {pnfs::ObjectId(key.object), key.index}; }

}  // namespace braid::pnfs_ds
