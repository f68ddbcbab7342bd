#include <utility>

#include "nfs4/attributes/fetch.h"
#include "nfs4/attributes/table.h"
#include "nfs4/ops/attribute_operations.h"
#include "nfs4/ops/open_support.h"

namespace braid::nfs4::ops {
namespace {

// What the holder of a write delegation may have changed without telling.
constexpr Bitmap behind_delegation{FATTR4_CHANGE, FATTR4_SIZE, FATTR4_SPACE_USED, FATTR4_TIME_METADATA,
                                   FATTR4_TIME_MODIFY};

// RFC 8881 10.4.3: another client's write delegation is recalled before its file is looked at. A 4.0 client
// cannot be told from the holder here.
Op4<> see_through_delegation(Compound& compound, const Place& at) {
  const state::ClientRef client = compound.client();
  if (client == nullptr) co_return;
  const vfs::FileHandle& file = at.file->handle();
  const auto look = [&](state::FileStates& files,
                        state::Aftermath& after) -> base::Result<bool, state::Refusal> {
    auto clear = files.break_delegations(file, client.get(), false, compound.now(), after);
    if (!clear) return base::fail(std::move(clear.error()));
    return true;
  };
  const auto looked = co_await with_states<bool, state::Refusal>(compound, look).as_result();
  if (!looked) co_await refuse(looked.error().status);
}

}  // namespace

Op4<attributes::EncodedAttributes> getattr(Compound& compound, const GETATTR4args& args) {
  const std::uint32_t minor = compound.minor_version();
  const Bitmap asked = Bitmap::of_wire(args.attr_request);
  // RFC 8881 section 5.5: write-only attributes may not be asked for; those nobody knows are left out.
  if (asked.intersects(attributes::write_only(minor))) co_await refuse(nfsstat4::NFS4ERR_INVAL);
  const Bitmap wanted = asked & attributes::supported_in(minor);
  const Place& at = compound.current();
  if (!at.pseudo() && wanted.intersects(behind_delegation)) co_await see_through_delegation(compound, at);
  attributes::AttributeSource source = attributes::source_of(compound, at);
  co_await attributes::fetch(compound, at, wanted, source);
  const auto encoded = attributes::encode_into(compound.arena(), wanted, source);
  if (!encoded) co_await refuse(nfsstat4::NFS4ERR_DELAY);
  co_return *encoded;
}

}  // namespace braid::nfs4::ops
