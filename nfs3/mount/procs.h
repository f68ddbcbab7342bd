// The procedures of MOUNT, one per file; RFC 1813 5.2.N describes procedure N. `service` is the MountService.
#pragma once

#include "rpc/program.h"

namespace braid::nfs3::mount::procs {

io::Op<rpc::Answer> null(rpc::Service& service, rpc::Call& call, rpc::Reply& reply);
io::Op<rpc::Answer> mnt(rpc::Service& service, rpc::Call& call, rpc::Reply& reply);
io::Op<rpc::Answer> dump(rpc::Service& service, rpc::Call& call, rpc::Reply& reply);
io::Op<rpc::Answer> umnt(rpc::Service& service, rpc::Call& call, rpc::Reply& reply);
io::Op<rpc::Answer> umntall(rpc::Service& service, rpc::Call& call, rpc::Reply& reply);
io::Op<rpc::Answer> list_exports(rpc::Service& service, rpc::Call& call, rpc::Reply& reply);

// The answer for what has been written to `out`.
inline rpc::Answer answer_of(const xdr::Encoder& out) {
  return out.ok() ? rpc::Answer::success : rpc::Answer::system_err;
}

}  // namespace braid::nfs3::mount::procs
