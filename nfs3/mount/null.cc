#include "nfs3/mount/procs.h"

namespace braid::nfs3::mount::procs {

io::Op<rpc::Answer> null(rpc::Service& /*service*/, rpc::Call& /*call*/, rpc::Reply& reply) {
  return answer_of(reply.begin());
}

}  // namespace braid::nfs3::mount::procs
