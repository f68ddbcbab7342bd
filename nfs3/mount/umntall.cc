#include "nfs/caller.h"
#include "nfs3/mount/procs.h"
#include "nfs3/mount/service.h"
#include "nfs3/mount/text.h"

namespace braid::nfs3::mount::procs {

io::Op<rpc::Answer> umntall(rpc::Service& service, rpc::Call& call, rpc::Reply& reply) {
  static_cast<MountService&>(service).mounts().remove_all(text_of(nfs::address_of(call.peer)));
  return answer_of(reply.begin());
}

}  // namespace braid::nfs3::mount::procs
