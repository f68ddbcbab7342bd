#include <algorithm>
#include <string>
#include <vector>

#include "nfs3/mount/procs.h"
#include "nfs3/mount/service.h"
#include "nfs3/mount/text.h"
#include "nfs3/mount3.x.h"

namespace braid::nfs3::mount::procs {

namespace {

// The networks of all rules; none if one of them is everybody's. RFC 1813 5.2.5: no groups at all means that
// everybody may mount.
std::vector<std::string> groups_of(const vfs::Export& shown) {
  std::vector<std::string> groups;
  const auto add = [&](const vfs::ExportRule& rule) {
    for (const vfs::Network& network : rule.clients) groups.push_back(text_of(network));
    return !rule.clients.empty();
  };
  if (!add(shown) || !std::ranges::all_of(shown.rules, add)) groups.clear();
  return groups;
}

}  // namespace

io::Op<rpc::Answer> list_exports(rpc::Service& service, rpc::Call& /*call*/, rpc::Reply& reply) {
  const auto table = static_cast<MountService&>(service).exports().current();
  xdr::Encoder& out = reply.begin();
  for (const vfs::Export& shown : table->all()) {
    const std::vector<std::string> groups = groups_of(shown);
    const std::vector<groupnode> names(groups.begin(), groups.end());
    out.boolean(true);
    encode(out, exportnode{shown.path, names});
  }
  out.boolean(false);
  return answer_of(out);
}

}  // namespace braid::nfs3::mount::procs
