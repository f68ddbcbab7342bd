#include <algorithm>
#include <optional>

#include "base/arith.h"
#include "nfs4/copy_jobs.h"
#include "nfs4/ops/extended_operations.h"
#include "nfs4/ops/file_operations.h"
#include "nfs4/ops/io_support.h"
#include "nfs4/server_state.h"
#include "nfs4/state/clients/client.h"

namespace braid::nfs4::ops {
namespace {

// Of one COPY that is done before it is answered; the client sends another one for the rest.
constexpr std::uint64_t synchronous_bytes_max = 64 * base::MiB;
// Below this a callback costs more than the client's wait.
constexpr std::uint64_t asynchronous_bytes_min = 16 * base::MiB;

COPY4resok answer(std::span<const stateid4> id, std::uint64_t count, const vfs::Verifier& verifier) {
  COPY4resok out;
  out.cr_response.wr_callback_id = id;
  out.cr_response.wr_count = count;
  out.cr_response.wr_committed = stable_how4::UNSTABLE4;
  out.cr_response.wr_writeverf = verifier.bytes;
  out.cr_requirements = {.cr_consecutive = true, .cr_synchronous = id.empty()};
  return out;
}

// How many bytes are meant (RFC 7862 15.2.3): 0 means up to the end of the source, and what is meant must
// exist.
Op4<std::uint64_t> length_of(const COPY4args& args, const Place& from, const Place& to) {
  const auto source = co_await from.attributes().as_result();
  if (!source) co_await refuse(source.error());
  if (args.ca_src_offset > source->size) co_await refuse(nfsstat4::NFS4ERR_INVAL);
  const std::uint64_t there = source->size - args.ca_src_offset;
  if (args.ca_count > there) co_await refuse(nfsstat4::NFS4ERR_INVAL);
  const std::uint64_t length = args.ca_count == 0 ? there : args.ca_count;
  if (!base::end_of<std::uint64_t>(args.ca_dst_offset, length)) co_await refuse(nfsstat4::NFS4ERR_FBIG);
  const bool overlaps =
      args.ca_src_offset < args.ca_dst_offset + length && args.ca_dst_offset < args.ca_src_offset + length;
  // The file system sees slices only, which may not overlap where the whole does.
  if (overlaps && from.file->handle() == to.file->handle()) co_await refuse(nfsstat4::NFS4ERR_INVAL);
  co_return length;
}

// Done in the background, if the client agrees and can be called back.
Result4<std::optional<COPY4resok>> begin_in_background(Compound& compound, const COPY4args& args,
                                                       const CopyWork& work, const vfs::Verifier& verifier) {
  const bool wanted = !args.ca_synchronous && work.length >= asynchronous_bytes_min;
  CopyJobs* const jobs = compound.server().copies;
  if (!wanted || jobs == nullptr || work.client == nullptr) return std::nullopt;
  bool fits = false;
  const std::span<stateid4> id = compound.arena().make<stateid4>(1, fits);
  if (!fits) return refuse(nfsstat4::NFS4ERR_DELAY);
  const auto started = jobs->start(work);
  if (!started) return std::nullopt;
  id[0] = *started;
  return answer(id, 0, verifier);
}

// At least one slice, or the error of the first one.
Op4<std::uint64_t> copy_now(const CopyWork& work) {
  const std::uint64_t wanted = std::min(work.length, synchronous_bytes_max);
  std::uint64_t copied = 0;
  while (copied < wanted) {
    // Who is gone has lost the right to write: others may have what it held.
    const ByteChange change(work.client);
    const auto admitted = change.admitted();
    if (!admitted && copied == 0) co_await refuse(admitted.error());
    if (!admitted) break;
    const auto slice = co_await work.to
                           ->copy_from(work.who, *work.from, work.from_offset + copied,
                                       work.to_offset + copied, wanted - copied)
                           .as_result();
    if (!slice && copied == 0) co_await refuse(slice.error());
    if (!slice || *slice == 0) break;
    copied += *slice;
  }
  co_return copied;
}

Op4<COPY4resok> run(Compound& compound, const COPY4args& args) {
  // Copies between servers begin with COPY_NOTIFY, which no client gets here.
  if (!args.ca_source_server.empty()) co_await refuse(nfsstat4::NFS4ERR_NOTSUPP);
  const Place& to = *co_await compound.current_in_export(nfsstat4::NFS4ERR_ISDIR);
  const Place& from = compound.saved();
  if (from.pseudo()) co_await refuse(nfsstat4::NFS4ERR_ISDIR);
  CopyWork work;
  work.from = co_await open_for_io(compound, from, args.ca_src_stateid, vfs::OpenAccess::read);
  work.to = co_await open_for_io(compound, to, args.ca_dst_stateid, vfs::OpenAccess::write);
  work.who = to.who;
  work.from_offset = args.ca_src_offset;
  work.to_offset = args.ca_dst_offset;
  work.length = co_await length_of(args, from, to);
  work.client = compound.client();
  work.peer = compound.call().peer_id;
  const vfs::Verifier verifier = work.to->write_verifier();
  if (work.length == 0) co_return answer({}, 0, verifier);
  auto background = co_await begin_in_background(compound, args, work, verifier);
  if (background) co_return *background;
  const std::uint64_t copied = co_await copy_now(work);
  co_return answer({}, copied, verifier);
}

}  // namespace

// RFC 7862 15.2. All copies are consecutive, so no requirement of a client is ever refused. Files of two
// exports are copied, too: what cannot be is XDEV, after which Linux copies by itself. It does not after
// OFFLOAD_DENIED, and not again for the whole mount after NOTSUPP.
Op4<COPY4resok, copy_requirements4> copy(Compound& compound, const COPY4args& args) {
  auto done = co_await run(compound, args).as_result();
  if (!done) co_return refuse_without<copy_requirements4>(done.error());
  co_return *done;
}

}  // namespace braid::nfs4::ops
