#include <algorithm>
#include <array>
#include <string>

#include "base/log.h"
#include "nfs/caller.h"
#include "nfs3/mount/procs.h"
#include "nfs3/mount/service.h"
#include "nfs3/mount/status.h"
#include "nfs3/mount/text.h"

namespace braid::nfs3::mount::procs {
namespace {

// RFC 5531 8.2: the flavors that NFS requests may come with, the preferred one first.
constexpr std::array<std::int32_t, 1> auth_flavors{1};  // AUTH_SYS

// The directory `path`, relative to the root of the export. The server itself looks, not the caller: what the
// caller may do there is decided with each NFS request. Symbolic links are not followed.
vfs::VfsOp<vfs::FileRef> walk(vfs::FileSystem& fs, std::string_view path) {
  constexpr vfs::Credentials server{};
  vfs::FileRef here = fs.root();
  while (!path.empty()) {
    const std::string_view name = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(path.size(), name.size() + 1));
    vfs::Found found = co_await fs.lookup(server, here, name);
    if (found.attributes.type != vfs::FileType::directory) co_return base::fail(vfs::Error::notdir);
    here = std::move(found.file);
  }
  co_return here;
}

// `path` is normal. The table of exports is held by the caller.
vfs::VfsOp<vfs::FileRef> open_path(const vfs::ExportTable& exports, const vfs::Address& client,
                                   const std::string& path) {
  const vfs::ExportTable::Match match = exports.by_path(path);
  if (match.found == nullptr) return base::fail(vfs::Error::noent);
  if (!match.found->allows(client)) return base::fail(vfs::Error::acces);
  return walk(*match.found->file_system, match.rest);
}

}  // namespace

io::Op<rpc::Answer> mnt(rpc::Service& service, rpc::Call& call, rpc::Reply& reply) {
  dirpath asked;
  if (!decode_dirpath(call.args, asked)) co_return rpc::Answer::garbage_args;
  auto& mounts = static_cast<MountService&>(service);
  const auto exports = mounts.exports().current();
  const std::string client = text_of(nfs::address_of(call.peer));
  const auto path = normal_path(asked);
  base::Result<vfs::FileRef, vfs::Error> directory = base::fail(vfs::Error::inval);
  if (path) directory = co_await open_path(*exports, nfs::address_of(call.peer), *path).as_result();

  mountres3 result = mountres3::with_default(mountstat3::MNT3ERR_INVAL);
  if (directory) {
    result = mountres3::with_mountinfo({(*directory)->handle().view(), auth_flavors});
    mounts.mounts().add(rpc::peer_key(call.peer), client, *path);
    base::log_event(rpc::log_source(call.peer), base::Level::info, "mounted", "client={} path={}", client,
                    asked);
  } else {
    result = mountres3::with_default(status_of(directory.error()));
    base::log_event(rpc::log_source(call.peer), base::Level::warning, "mount_refused",
                    "client={} path={} status={}", client, asked, name_of(result.fhs_status));
  }
  reply.status = static_cast<std::uint32_t>(result.fhs_status);
  xdr::Encoder& out = reply.begin();
  encode(out, result);
  co_return answer_of(out);
}

}  // namespace braid::nfs3::mount::procs
