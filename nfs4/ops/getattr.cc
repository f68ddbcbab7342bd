#include "nfs4/attributes/fetch.h"
#include "nfs4/attributes/table.h"
#include "nfs4/ops/attribute_operations.h"
#include "nfs4/ops/delegated_attributes.h"

namespace braid::nfs4::ops {

Op4<attributes::EncodedAttributes> getattr(Compound& compound, const GETATTR4args& args) {
  const std::uint32_t minor = compound.minor_version();
  const Bitmap asked = Bitmap::of_wire(args.attr_request);
  // RFC 8881 section 5.5: write-only attributes may not be asked for; those nobody knows are left out.
  if (asked.intersects(attributes::write_only(minor))) co_await refuse(nfsstat4::NFS4ERR_INVAL);
  const Bitmap wanted = asked & attributes::supported_in(minor);
  const Place& at = compound.current();
  const auto size = co_await see_through_delegation(compound, at, wanted);
  attributes::AttributeSource source = attributes::source_of(compound, at);
  co_await attributes::fetch(compound, at, wanted, compound.seen(), source);
  if (size) source.object.size = *size;
  const auto encoded = attributes::encode_into(compound.arena(), wanted, source);
  if (!encoded) co_await refuse(nfsstat4::NFS4ERR_DELAY);
  co_return *encoded;
}

}  // namespace braid::nfs4::ops
