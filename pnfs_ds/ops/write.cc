#include <algorithm>
#include <utility>

#include "base/arith.h"
#include "nfs4/options.h"
#include "pnfs_ds/ops/operations.h"

namespace braid::pnfs_ds::ops {

using nfs4::stable_how4;
static_assert(static_cast<int>(stable_how4::UNSTABLE4) == static_cast<int>(vfs::Stability::unstable));
static_assert(static_cast<int>(stable_how4::DATA_SYNC4) == static_cast<int>(vfs::Stability::data_sync));
static_assert(static_cast<int>(stable_how4::FILE_SYNC4) == static_cast<int>(vfs::Stability::file_sync));

nfs4::Op4<nfs4::WRITE4resok> write(nfs4::Compound& compound, const nfs4::WRITE4args& args) {
  const HandleFile& file = *co_await object_at(compound);
  co_await check_stateid(compound, args.stateid);
  DataServer& server = file.server();
  const std::size_t count =
      std::min<std::size_t>(args.data.size(), compound.server().options.write_bytes_max);
  if (!base::end_of<std::uint64_t>(args.offset, count, pnfs::Striping::offset_max))
    co_await nfs4::refuse(nfs4::nfsstat4::NFS4ERR_FBIG);
  co_await DataServer::check_stripe(file.data(), args.offset, count);
  Objects::Use use(server.objects(), file.key());
  use.begin();
  co_await server.admit(file, true);
  Objects::Opened opened = co_await server.find_or_make(use, file);
  if (!use.object().announced()) co_await server.announce(use, file);
  io::Payload data = args.data.size() > count ? args.data.slice(0, count) : args.data;
  const auto done = co_await server.objects()
                        .write(use, std::move(opened), args.offset, std::move(data),
                               static_cast<vfs::Stability>(args.stable))
                        .as_result();
  if (!use.object().announced()) co_await server.announce_done(use);
  if (!done) co_await nfs4::refuse(server.status_of(done.error()));
  co_return nfs4::WRITE4resok{done->count, static_cast<stable_how4>(done->committed), done->verifier.bytes};
}

}  // namespace braid::pnfs_ds::ops
