#include "bench/load/mount.h"

#include "nfs3/mount3.x.h"

namespace braid::load {

namespace {

// The argument of MNT and UMNT: the protocol's dirpath is a bare string, whose codec has a name of its own.
struct DirPath {
  std::string_view path;
};
void encode(xdr::Encoder& out, const DirPath& value) { nfs3::encode_dirpath(out, value.path); }

// UMNT returns nothing.
struct NoResults {};
bool decode(xdr::Decoder&, NoResults&) { return true; }

rpc::ProcedureId mount_procedure(nfs3::MOUNT_V3_procedure procedure) {
  return {nfs3::MOUNT_PROGRAM, nfs3::MOUNT_V3, static_cast<std::uint32_t>(procedure)};
}

}  // namespace

LoadOp<Handle> mount(Session& session, std::string_view path) {
  return session.call_program<Handle, nfs3::mountres3>(
      mount_procedure(nfs3::MOUNT_V3_procedure::MOUNTPROC3_MNT), DirPath{path},
      [](const nfs3::mountres3& res) -> base::Result<Handle, Fault> {
        if (res.mountinfo() == nullptr) return base::fail(Fault{nfs3::name_of(res.fhs_status)});
        return Handle(res.mountinfo()->fhandle);
      });
}

LoadOp<Done> unmount(Session& session, std::string_view path) {
  return session.call_program<Done, NoResults>(
      mount_procedure(nfs3::MOUNT_V3_procedure::MOUNTPROC3_UMNT), DirPath{path},
      [](const NoResults&) -> base::Result<Done, Fault> { return Done{}; });
}

}  // namespace braid::load
