// The operations of a data server (RFC 8881 section 13.6).
#pragma once

#include "nfs4/attributes/reply.h"
#include "nfs4/compound/compound.h"
#include "nfs4/compound/operation_table.h"
#include "nfs4/op4.h"
#include "pnfs_ds/data_server.h"

namespace braid::pnfs_ds {

// Those that a data server executes; the others are NFS4ERR_NOTSUPP.
nfs4::OperationTable operations();

namespace ops {

// The object that the current filehandle stands for. ISDIR: it is the root.
nfs4::Result4<const HandleFile*> object_at(const nfs4::Compound& compound);
// RFC 8881 section 13.9.1: a special stateid is none for a data server. BAD_STATEID.
nfs4::Result4<void> check_stateid(const nfs4::Compound& compound, const nfs4::stateid4& id);

nfs4::Op4<nfs4::READ4resok> read(nfs4::Compound& compound, const nfs4::READ4args& args);
nfs4::Op4<nfs4::WRITE4resok> write(nfs4::Compound& compound, const nfs4::WRITE4args& args);
nfs4::Op4<nfs4::COMMIT4resok> commit(nfs4::Compound& compound, const nfs4::COMMIT4args& args);

}  // namespace ops
}  // namespace braid::pnfs_ds
