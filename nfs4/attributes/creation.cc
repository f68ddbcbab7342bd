#include "nfs4/attributes/creation.h"

#include <vector>

#include "nfs4/attributes/acl.h"
#include "nfs4/attributes/fetch.h"
#include "nfs4/attributes/table.h"
#include "nfs4/idmap/id_map.h"

namespace braid::nfs4::attributes {
namespace {

nfsstat4 status_of_id(IdError error) {
  return error == IdError::unknown ? nfsstat4::NFS4ERR_BADOWNER : nfsstat4::NFS4ERR_DELAY;
}

Op4<std::uint32_t> id_of(Compound& compound, IdKind kind, std::string_view owner) {
  if (owner.empty()) co_return refuse(nfsstat4::NFS4ERR_INVAL);
  const auto id = co_await compound.server().ids.id_of(kind, owner, compound.now()).as_result();
  if (!id) co_return refuse(status_of_id(id.error()));
  co_return *id;
}

// RFC 8881 section 6.2.1.5: the special ones mean the same with and without ACE4_IDENTIFIER_GROUP.
Op4<Who> who_of(Compound& compound, const nfsace4& ace) {
  if (ace.who == "OWNER@") co_return Who{Who::Kind::owner, 0};
  if (ace.who == "GROUP@") co_return Who{Who::Kind::group, 0};
  if (ace.who == "EVERYONE@") co_return Who{Who::Kind::everyone, 0};
  const bool group = (ace.flag & ACE4_IDENTIFIER_GROUP) != 0;
  const std::uint32_t id = co_await id_of(compound, group ? IdKind::group : IdKind::user, ace.who);
  co_return Who{group ? Who::Kind::named_group : Who::Kind::user, id};
}

}  // namespace

Op4<vfs::SetAttributes> file_attributes(Compound& compound, const SetRequest& request) {
  vfs::SetAttributes set;
  set.mode = request.mode;
  set.umask = request.umask;
  set.size = request.size;
  set.atime = request.atime;
  set.mtime = request.mtime;
  if (request.owner) set.uid = co_await id_of(compound, IdKind::user, *request.owner);
  if (request.group) set.gid = co_await id_of(compound, IdKind::group, *request.group);
  co_return set;
}

Op4<vfs::SetAcl> file_acl(Compound& compound, std::span<const nfsace4> acl, bool directory) {
  if (acl.size() > aces_mapped_max) co_return refuse(nfsstat4::NFS4ERR_FBIG);
  std::vector<Ace> aces;
  aces.reserve(acl.size());
  for (const nfsace4& ace : acl) {
    const Who who = co_await who_of(compound, ace);
    aces.push_back({ace.type, ace.flag, ace.access_mask, who});
  }
  co_return co_await posix_acl_of(aces, directory);
}

Op4<Creation> begin_creation(Compound& compound, const Place& parent, const fattr4& attributes,
                             bool directory, CreationMode mode) {
  const Bitmap named = Bitmap::of_wire(attributes.attrmask);
  AttributeSource source = source_of(compound, parent);
  // The new object will have what its directory has.
  if (named.has(FATTR4_ACL)) {
    const auto limits = co_await parent.fs().limits(parent.file).as_result();
    if (!limits) co_await refuse(limits.error());
    source.limits = *limits;
  }
  const std::uint32_t minor = compound.minor_version();
  const Bitmap allowed =
      mode == CreationMode::exclusive ? settable_at_exclusive_creation(minor) : settable_at_creation(minor);
  const SetRequest request =
      co_await decode_settable(attributes, supported(source), allowed, compound.arena());
  Creation creation;
  creation.attrset = named;
  creation.set = co_await file_attributes(compound, request);
  if (request.acl) creation.acl = co_await file_acl(compound, *request.acl, directory);
  co_return creation;
}

Op4<> finish_creation(Compound&, const Place& made, const Creation& creation) {
  if (!creation.acl) co_return;
  const auto done = co_await made.fs().set_acl(made.who, made.file, *creation.acl, nullptr).as_result();
  // To try again later would be to make it again.
  const bool later = !done && done.error() == vfs::Error::delay;
  if (!done) co_await refuse(later ? vfs::Error::io : done.error());
}

}  // namespace braid::nfs4::attributes
