#include <vector>

#include "nfs3/mount/procs.h"
#include "nfs3/mount/service.h"
#include "nfs3/mount3.x.h"

namespace braid::nfs3::mount::procs {

io::Op<rpc::Answer> dump(rpc::Service& service, rpc::Call& /*call*/, rpc::Reply& reply) {
  const std::vector<MountList::Entry> entries = static_cast<MountService&>(service).mounts().entries();
  std::vector<mountbody> list;
  list.reserve(entries.size());
  for (const MountList::Entry& entry : entries) list.push_back({entry.client, entry.path});
  xdr::Encoder& out = reply.begin();
  encode_mountlist(out, list);
  return answer_of(out);
}

}  // namespace braid::nfs3::mount::procs
