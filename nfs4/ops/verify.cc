#include "nfs4/attributes/compare.h"
#include "nfs4/attributes/fetch.h"
#include "nfs4/attributes/table.h"
#include "nfs4/idmap/id_map.h"
#include "nfs4/ops/attribute_operations.h"
#include "nfs4/ops/delegated_attributes.h"

namespace braid::nfs4::ops {
namespace {

// A name that is written otherwise may mean the same user. One that nobody has is not his.
Op4<bool> means(Compound& compound, IdKind kind, std::string_view text, std::uint32_t id) {
  const auto meant = co_await compound.server().ids.id_of(kind, text, compound.now()).as_result();
  if (!meant && meant.error() == IdError::later) co_await refuse(nfsstat4::NFS4ERR_DELAY);
  co_return meant && *meant == id;
}

}  // namespace

Op4<bool> same_attributes(Compound& compound, const fattr4& theirs) {
  const std::uint32_t minor = compound.minor_version();
  const Bitmap named = Bitmap::of_wire(theirs.attrmask);
  // RFC 8881 18.31.3: neither write-only attributes nor rdattr_error can be compared.
  const Bitmap incomparable = attributes::write_only(minor) | Bitmap{FATTR4_RDATTR_ERROR};
  if (named.intersects(incomparable)) co_await refuse(nfsstat4::NFS4ERR_INVAL);
  if (!named.within(attributes::supported_in(minor))) co_await refuse(nfsstat4::NFS4ERR_ATTRNOTSUPP);
  attributes::AttributeSource source = attributes::source_of(compound, compound.current());
  const auto size = co_await see_through_delegation(compound, compound.current(), named);
  co_await attributes::fetch(compound, compound.current(), named, compound.seen(), source);
  if (size) source.object.size = *size;
  if (!named.within(attributes::supported(source))) co_await refuse(nfsstat4::NFS4ERR_ATTRNOTSUPP);
  const auto compared = co_await attributes::compare(theirs, source, compound.arena());
  bool same = compared.same;
  if (same && compared.owner)
    same = co_await means(compound, IdKind::user, *compared.owner, source.object.uid);
  if (same && compared.group)
    same = co_await means(compound, IdKind::group, *compared.group, source.object.gid);
  co_return same;
}

Op4<> verify(Compound& compound, const VERIFY4args& args) {
  const bool same = co_await same_attributes(compound, args.obj_attributes);
  if (!same) co_await refuse(nfsstat4::NFS4ERR_NOT_SAME);
}

}  // namespace braid::nfs4::ops
