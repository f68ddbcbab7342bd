// Attributes that CREATE and OPEN give to what they make, and what they have in common with SETATTR.
#pragma once

#include <optional>
#include <span>

#include "nfs4/attributes/bitmap.h"
#include "nfs4/attributes/settable.h"
#include "nfs4/compound/compound.h"
#include "nfs4/op4.h"
#include "vfs/acl.h"
#include "vfs/types.h"

namespace braid::nfs4::attributes {

// What a file system takes, with owner names translated: NFS4ERR_BADOWNER for unknown ones, NFS4ERR_DELAY
// when it cannot be found out now. Without delegated times and mode_set_masked.
Op4<vfs::SetAttributes> file_attributes(Compound& compound, const SetRequest& request);
// `directory`: of the object that gets the ACL.
Op4<vfs::SetAcl> file_acl(Compound& compound, std::span<const nfsace4> acl, bool directory);

enum class CreationMode : std::uint8_t {
  ordinary,   // CREATE, and OPEN with UNCHECKED4 or GUARDED4
  exclusive,  // EXCLUSIVE4_1: suppattr_exclcreat bounds what may be set
};

// For FileSystem::create(), mkdir(), open_create() ...
struct Creation {
  vfs::SetAttributes set;
  std::optional<vfs::SetAcl> acl;  // finish_creation() sets it
  Bitmap attrset;                  // what the reply says was set when all went well
};

//   const Creation creation = co_await begin_creation(compound, parent, args.createattrs, false,
//                                                     CreationMode::ordinary);
//   ... parent.fs().create(..., creation.set ...) ...
//   co_await finish_creation(compound, made, creation);
//   reply.attrset = wire_of(creation.attrset, compound.arena());      // reply.h
//
// `parent` is of an export. `directory`: one will be made. Errors as those of decode_settable(),
// file_attributes() and file_acl().
Op4<Creation> begin_creation(Compound& compound, const Place& parent, const fattr4& attributes,
                             bool directory, CreationMode mode);
// When `made` was made just now, not for a file that existed.
Op4<> finish_creation(Compound& compound, const Place& made, const Creation& creation);

// The times in which an exclusive create keeps its verifier: OPEN adds them to its attrset (RFC
// 8881 18.16.3), and the client sets them to what they should be.
constexpr Bitmap verifier_attributes{FATTR4_TIME_ACCESS, FATTR4_TIME_MODIFY};

}  // namespace braid::nfs4::attributes
