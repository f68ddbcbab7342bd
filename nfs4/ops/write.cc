#include <algorithm>
#include <limits>

#include "base/arith.h"
#include "nfs4/ops/file_operations.h"
#include "nfs4/ops/io_support.h"
#include "nfs4/options.h"
#include "nfs4/state/opens/share.h"

namespace braid::nfs4::ops {
namespace {

vfs::Stability stability_of(stable_how4 how) {
  switch (how) {
    case stable_how4::UNSTABLE4:
      return vfs::Stability::unstable;
    case stable_how4::DATA_SYNC4:
      return vfs::Stability::data_sync;
    case stable_how4::FILE_SYNC4:
      return vfs::Stability::file_sync;
  }
  return vfs::Stability::file_sync;
}

stable_how4 stable_how_of(vfs::Stability stability) {
  switch (stability) {
    case vfs::Stability::unstable:
      return stable_how4::UNSTABLE4;
    case vfs::Stability::data_sync:
      return stable_how4::DATA_SYNC4;
    case vfs::Stability::file_sync:
      return stable_how4::FILE_SYNC4;
  }
  return stable_how4::UNSTABLE4;
}

}  // namespace

Op4<WRITE4resok> write(Compound& compound, const WRITE4args& args) {
  const Place& at = *co_await compound.current_in_export(nfsstat4::NFS4ERR_ISDIR);
  const state::IoGrant grant = co_await authorize_io(compound, args.stateid, state::share_write);
  // More than maxwrite is written in part, as RFC 8881 18.32.3 allows; the client sends the rest again.
  const std::size_t count =
      std::min<std::size_t>(args.data.size(), compound.server().options.write_bytes_max);
  constexpr std::uint64_t offset_max = std::numeric_limits<std::int64_t>::max();
  if (!base::end_of<std::uint64_t>(args.offset, count, offset_max)) co_await refuse(nfsstat4::NFS4ERR_FBIG);
  io::Payload front;
  if (args.data.size() > count) front = args.data.slice(0, count);
  const io::Payload& data = args.data.size() > count ? front : args.data;
  const GrantedFile file(grant, at);
  const ByteChange change(compound, &grant);
  co_await change.admitted();
  const auto done = co_await file->write(at.who, args.offset, data, stability_of(args.stable)).as_result();
  if (!done) co_await refuse_on_file(compound, at, done.error());
  compound.wrote(done->count);
  co_return WRITE4resok{done->count, stable_how_of(done->committed), done->verifier.bytes};
}

}  // namespace braid::nfs4::ops
