#include <algorithm>
#include <limits>

#include "base/arith.h"
#include "nfs3/attributes.h"
#include "nfs3/procs/procs.h"

namespace braid::nfs3::procs {
namespace {

vfs::Stability stability_of(stable_how how) {
  switch (how) {
    case stable_how::UNSTABLE:
      return vfs::Stability::unstable;
    case stable_how::DATA_SYNC:
      return vfs::Stability::data_sync;
    case stable_how::FILE_SYNC:
      return vfs::Stability::file_sync;
  }
  return vfs::Stability::file_sync;
}

stable_how stable_how_of(vfs::Stability stability) {
  switch (stability) {
    case vfs::Stability::unstable:
      return stable_how::UNSTABLE;
    case vfs::Stability::data_sync:
      return stable_how::DATA_SYNC;
    case vfs::Stability::file_sync:
      return stable_how::FILE_SYNC;
  }
  return stable_how::UNSTABLE;
}

}  // namespace

std::optional<std::uint32_t> write_bulk(xdr::Decoder& args) {
  base::BytesView file;
  std::uint64_t offset;
  std::uint32_t count, stable, bytes;
  if (!args.opaque(file, NFS3_FHSIZE) || !args.u64(offset) || !args.u32(count) || !args.u32(stable) ||
      !args.u32(bytes) || bytes > DATA_BYTES_MAX)
    return std::nullopt;
  return bytes;
}

Op3<WRITE3resok, WRITE3resfail> write(Request& request, const WRITE3args& args) {
  const Target target = co_await request.target(args.file);
  if (args.count > args.data.size()) co_return refuse<WRITE3resfail>(nfsstat3::NFS3ERR_INVAL);
  // More than wtmax is written in part, as RFC 1813 3.3.7 allows; the client sends the rest again.
  const std::uint32_t count = std::min(args.count, request.options().write_bytes_max);
  constexpr std::uint64_t offset_max = std::numeric_limits<std::int64_t>::max();
  if (!base::end_of<std::uint64_t>(args.offset, count, offset_max))
    co_return refuse<WRITE3resfail>(nfsstat3::NFS3ERR_FBIG);
  io::Payload front;
  if (args.data.size() > count) front = args.data.slice(0, count);
  const io::Payload& data = args.data.size() > count ? front : args.data;
  vfs::Wcc wcc;
  const vfs::Borrowed content = target.content();
  const auto done =
      co_await content->write(target.who, args.offset, data, stability_of(args.stable), &wcc).as_result();
  if (!done) co_return refuse(done.error(), WRITE3resfail{wcc_data_of(wcc)});
  request.wrote(done->count);
  co_return WRITE3resok{.file_wcc = wcc_data_of(wcc),
                        .count = done->count,
                        .committed = stable_how_of(done->committed),
                        .verf = done->verifier.bytes};
}

}  // namespace braid::nfs3::procs
