#include "nfs/caller.h"
#include "nfs3/mount/procs.h"
#include "nfs3/mount/service.h"
#include "nfs3/mount/text.h"
#include "nfs3/mount3.x.h"

namespace braid::nfs3::mount::procs {

io::Op<rpc::Answer> umnt(rpc::Service& service, rpc::Call& call, rpc::Reply& reply) {
  dirpath path;
  if (!decode_dirpath(call.args, path)) return rpc::Answer::garbage_args;
  if (const auto normal = normal_path(path))
    static_cast<MountService&>(service).mounts().remove(text_of(nfs::address_of(call.peer)), *normal);
  return answer_of(reply.begin());
}

}  // namespace braid::nfs3::mount::procs
