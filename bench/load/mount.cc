#include "bench/load/mount.h"

#include "nfs3/mount3.x.h"

namespace braid::load {

namespace {

rpc::ProcedureId mount_procedure(nfs3::MOUNT_V3_procedure procedure) {
  return {nfs3::MOUNT_PROGRAM, nfs3::MOUNT_V3, static_cast<std::uint32_t>(procedure)};
}

}  // namespace

LoadOp<Handle> mount(Connection& connection, std::string_view path) {
  return connection.call<Handle>(
      mount_procedure(nfs3::MOUNT_V3_procedure::MOUNTPROC3_MNT),
      [path](xdr::Encoder& out) { nfs3::encode_dirpath(out, path); },
      [](xdr::Decoder& in) -> base::Result<Handle, Fault> {
        nfs3::mountres3 res;
        if (!decode(in, res)) return base::fail(Fault{"results that do not decode"});
        if (res.mountinfo() == nullptr) return base::fail(Fault{nfs3::name_of(res.fhs_status)});
        return Handle(res.mountinfo()->fhandle);
      });
}

LoadOp<Done> unmount(Connection& connection, std::string_view path) {
  return connection.call<Done>(
      mount_procedure(nfs3::MOUNT_V3_procedure::MOUNTPROC3_UMNT),
      [path](xdr::Encoder& out) { nfs3::encode_dirpath(out, path); },
      [](xdr::Decoder&) -> base::Result<Done, Fault> { return Done{}; });
}

}  // namespace braid::load
