#include "pnfs_ds/ops/operations.h"

#include <array>

#include "nfs4/compound/operation_handler.h"
#include "nfs4/operations.h"
#include "nfs4/ops/attribute_operations.h"
#include "nfs4/ops/file_operations.h"
#include "nfs4/state/state_id.h"

namespace braid::pnfs_ds {
namespace {

using enum nfs4::nfs_opnum4;
using nfs4::row;

constexpr auto executed = std::to_array<nfs4::nfs_opnum4>({
    OP_EXCHANGE_ID,
    OP_CREATE_SESSION,
    OP_BIND_CONN_TO_SESSION,
    OP_SEQUENCE,
    OP_DESTROY_SESSION,
    OP_DESTROY_CLIENTID,
    OP_RECLAIM_COMPLETE,
    OP_SECINFO_NO_NAME,
    OP_PUTFH,
    OP_PUTROOTFH,
    OP_GETATTR,
    OP_READ,
    OP_WRITE,
    OP_COMMIT,
});

// Objects have no attributes and no directory: these are for the root, where clients ask for the lease time.
nfs4::Op4<nfs4::attributes::EncodedAttributes> getattr(nfs4::Compound& compound,
                                                       const nfs4::GETATTR4args& args) {
  if (!compound.current().pseudo()) return nfs4::refuse(nfs4::nfsstat4::NFS4ERR_NOTSUPP);
  return nfs4::ops::getattr(compound, args);
}
nfs4::Op4<nfs4::ops::SecurityList> secinfo_no_name(nfs4::Compound& compound,
                                                   const nfs4::SECINFO_NO_NAME4args& args) {
  if (!compound.current().pseudo()) return nfs4::refuse(nfs4::nfsstat4::NFS4ERR_NOTSUPP);
  return nfs4::ops::secinfo_no_name(compound, args);
}

constexpr nfs4::OperationFlags on_current{.needs_current = true};
constexpr nfs4::OperationFlags looks_at_current{.needs_current = true, .looks = true};
constexpr nfs4::OperationFlags changes_current{.needs_current = true, .changes = true};

constexpr auto own = std::to_array<nfs4::Operation>({
    row<ops::commit>(OP_COMMIT, "COMMIT", nfs4::from_41, on_current, 0, "RFC 8881 18.3"),
    row<getattr>(OP_GETATTR, "GETATTR", nfs4::from_41, looks_at_current, 0, "RFC 8881 18.7"),
    row<ops::read>(OP_READ, "READ", nfs4::from_41, on_current, 0, "RFC 8881 18.22"),
    row<ops::write>(OP_WRITE, "WRITE", nfs4::from_41, changes_current, nfs4::WRITE4resok::encoded_bytes_max,
                    "RFC 8881 18.32"),
    row<secinfo_no_name>(OP_SECINFO_NO_NAME, "SECINFO_NO_NAME", nfs4::from_41, on_current, 0,
                         "RFC 8881 18.45"),
});

}  // namespace

nfs4::OperationTable operations() {
  nfs4::OperationTable table = nfs4::standard_operations().only(executed);
  table.add(own);
  // pNFS begins with 4.1.
  for (const nfs4::nfs_opnum4 number : executed) {
    nfs4::Operation row = *table.find(static_cast<std::uint32_t>(number));
    row.minors.v0 = false;
    table.add({&row, 1});
  }
  return table;
}

namespace ops {

nfs4::Result4<const HandleFile*> object_at(const nfs4::Compound& compound) {
  if (compound.current().pseudo()) return nfs4::refuse(nfs4::nfsstat4::NFS4ERR_ISDIR);
  return static_cast<const HandleFile*>(compound.current().file.get());
}

nfs4::Result4<void> check_stateid(const nfs4::Compound& compound, const nfs4::stateid4& id) {
  if (nfs4::state::special_of(id, compound.minor_version()) != nfs4::state::SpecialStateId::none)
    return nfs4::refuse(nfs4::nfsstat4::NFS4ERR_BAD_STATEID);
  return {};
}

}  // namespace ops
}  // namespace braid::pnfs_ds
