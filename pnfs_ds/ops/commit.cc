#include "base/arith.h"
#include "pnfs_ds/ops/operations.h"

namespace braid::pnfs_ds::ops {

nfs4::Op4<nfs4::COMMIT4resok> commit(nfs4::Compound& compound, const nfs4::COMMIT4args& args) {
  const HandleFile& file = *co_await object_at(compound);
  // RFC 8881 18.3.3: INVAL when the end is above what 64 bits hold.
  if (!base::end_of<std::uint64_t>(args.offset, args.count))
    co_await nfs4::refuse(nfs4::nfsstat4::NFS4ERR_INVAL);
  DataServer& server = file.server();
  Objects::Use use(server.objects(), file.key());
  use.begin();
  co_await server.admit(file, true);
  if (!use.object().announced()) co_await server.announce(use, file);
  const auto done = co_await server.objects().commit(use).as_result();
  if (!use.object().announced()) co_await server.announce_done(use);
  if (!done) co_await nfs4::refuse(server.status_of(done.error()));
  co_return nfs4::COMMIT4resok{done->bytes};
}

}  // namespace braid::pnfs_ds::ops
