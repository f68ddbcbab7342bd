#include <string>
#include <vector>

#include "nfs3/mount/procs.h"
#include "nfs3/mount/service.h"
#include "nfs3/mount/text.h"
#include "nfs3/mount3.x.h"

namespace braid::nfs3::mount::procs {

// RFC 1813 5.2.5: no groups at all means that everybody may mount.
io::Op<rpc::Answer> list_exports(rpc::Service& service, rpc::Call& /*call*/, rpc::Reply& reply) {
  const auto table = static_cast<MountService&>(service).exports().current();
  xdr::Encoder& out = reply.begin();
  for (const vfs::Export& shown : table->all()) {
    std::vector<std::string> networks;
    networks.reserve(shown.clients.size());
    for (const vfs::Network& network : shown.clients) networks.push_back(text_of(network));
    const std::vector<groupnode> names(networks.begin(), networks.end());
    out.boolean(true);
    encode(out, exportnode{shown.path, names});
  }
  out.boolean(false);
  return answer_of(out);
}

}  // namespace braid::nfs3::mount::procs
