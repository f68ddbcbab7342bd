#include <array>

#include "nfs4/names.h"
#include "nfs4/ops/file_operations.h"

namespace braid::nfs4::ops {
namespace {

// In the order of preference (RFC 8881 18.29.3).
constexpr std::array<std::uint32_t, 2> flavors{SECINFO_AUTH_SYS, SECINFO_AUTH_NONE};

}  // namespace

void encode(xdr::Encoder& out, const SecurityList& /*list*/) {
  out.u32(flavors.size());
  for (const std::uint32_t flavor : flavors) encode(out, secinfo4::with_default(flavor));
}

std::size_t encoded_size(const SecurityList& /*list*/) { return 4 + 4 * flavors.size(); }

Op4<SecurityList> secinfo(Compound& compound, const SECINFO4args& args) {
  co_await check_name(args.name);
  auto found = co_await compound.look_up(compound.current(), args.name).as_result();
  if (!found && found.error() == nfsstat4::NFS4ERR_NOTDIR)
    co_await refuse_in_directory(compound, compound.current(), vfs::Error::notdir);
  co_await std::move(found);
  // RFC 8881 2.6.3.1.1.8: it consumes the current filehandle. Not in 4.0 (RFC 7530 16.31.4).
  if (compound.minor_version() > 0) compound.set_current({});
  co_return SecurityList{};
}

}  // namespace braid::nfs4::ops
