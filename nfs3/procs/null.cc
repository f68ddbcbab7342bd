#include "nfs3/procs/procs.h"

namespace braid::nfs3::procs {

io::Op<rpc::Answer> null(rpc::Service& /*service*/, rpc::Call& /*call*/, rpc::Reply& reply) {
  return reply.begin().ok() ? rpc::Answer::success : rpc::Answer::system_err;
}

}  // namespace braid::nfs3::procs
