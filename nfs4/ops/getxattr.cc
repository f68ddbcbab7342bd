#include "nfs4/ops/extended_operations.h"

namespace braid::nfs4::ops {

Op4<XattrValue> getxattr(Compound& compound, const GETXATTR4args& args) {
  // Directories that join exports have none.
  const Place& at = *co_await compound.current_in_export(nfsstat4::NFS4ERR_NOXATTR);
  auto value = co_await at.fs().get_xattr(at.who, at.file, args.gxa_name).as_result();
  if (!value) co_await refuse(value.error());
  co_return XattrValue{std::move(*value)};
}

// Copied: a slab for a value of some bytes would be in the reply for long.
void encode(xdr::Encoder& out, const XattrValue& result) {
  const auto memory = result.value.in_memory();
  out.opaque(memory ? memory->bytes() : base::Bytes());
}

std::size_t encoded_size(const XattrValue& result) { return 4 + (result.value.size() + 3) / 4 * 4; }

}  // namespace braid::nfs4::ops
