#include "nfs4/service.h"

#include <array>
#include <optional>

#include "io/reactor.h"
#include "nfs4/compound/compound_run.h"
#include "nfs4/names.h"
#include "xdr/decoder.h"

namespace braid::nfs4 {
namespace {

constexpr std::uint32_t minor_version_max = 2;

io::Op<rpc::Answer> null(rpc::Service& /*service*/, rpc::Call& /*call*/, rpc::Reply& reply) {
  reply.begin();
  return rpc::Answer::success;
}

// RFC 8881 16.2.3: a tag that is no UTF-8, and a minor version that is unknown, are errors of the COMPOUND as
// a whole.
nfsstat4 check_head(const COMPOUND4args& head, const Nfs4Options& options) {
  if (head.tag.size() > options.tag_bytes_max || !is_utf8(head.tag)) return nfsstat4::NFS4ERR_INVAL;
  if (head.minorversion > minor_version_max) return nfsstat4::NFS4ERR_MINOR_VERS_MISMATCH;
  return nfsstat4::NFS4_OK;
}

rpc::Answer refuse_whole(rpc::Reply& reply, const COMPOUND4args& head, nfsstat4 status,
                         const Nfs4Options& options) {
  reply.worth_keeping = false;
  reply.status = static_cast<std::uint32_t>(status);
  const std::string_view tag = head.tag.size() > options.tag_bytes_max ? std::string_view() : head.tag;
  encode(reply.begin(), COMPOUND4res{status, tag, 0});
  return rpc::Answer::success;
}

io::Op<rpc::Answer> compound(rpc::Service& service, rpc::Call& call, rpc::Reply& reply) {
  auto& nfs = static_cast<Nfs4Service&>(service);
  COMPOUND4args head;
  if (!decode(call.args, head)) co_return rpc::Answer::garbage_args;
  const Nfs4Options& options = nfs.state().options;
  if (const nfsstat4 status = check_head(head, options); status != nfsstat4::NFS4_OK)
    co_return refuse_whole(reply, head, status, options);
  CompoundRun run(nfs.state(), nfs.table(), nfs.metrics(), call, reply, head);
  for (const Operation* row = run.next(); row != nullptr; row = run.next()) {
    const xdr::Decoder args = call.args;
    io::Op<nfsstat4> running = run.execute(*row);
    running.start(call.peer_id);
    bool waits = !running.done();
    nfsstat4 status = co_await std::move(running);
    while (const auto pause = run.pause_before_again(*row, status)) {
      waits = true;
      const auto waited = co_await io::Reactor::current()->sleep(*pause).as_result();
      if (!waited) break;
      call.args = args;
      status = co_await run.again(*row);
    }
    run.end(*row, status, waits);
  }
  co_return run.answer();
}

// Sessions keep replies themselves; 4.0 relies on the duplicate-request cache.
bool is_minor_0(const rpc::Call& call) {
  xdr::Decoder in = call.args;
  COMPOUND4args head;
  return decode(in, head) && head.minorversion == 0;
}

// The data of a WRITE that stands where clients put it: [SEQUENCE] PUTFH WRITE. After anything else it is no
// worse than in memory.
std::optional<std::uint32_t> write_bulk(xdr::Decoder& args) {
  COMPOUND4args head;
  if (!decode(args, head)) return std::nullopt;
  nfs_opnum4 number{};
  if (!decode(args, number)) return std::nullopt;
  if (SEQUENCE4args sequence; number == nfs_opnum4::OP_SEQUENCE)
    if (!decode(args, sequence) || !decode(args, number)) return std::nullopt;
  PUTFH4args file;
  if (number != nfs_opnum4::OP_PUTFH || !decode(args, file)) return std::nullopt;
  if (!decode(args, number) || number != nfs_opnum4::OP_WRITE) return std::nullopt;
  stateid4 id;
  std::uint64_t offset;
  std::uint32_t stable, bytes;
  if (!decode(args, id) || !args.u64(offset) || !args.u32(stable) || !args.u32(bytes)) return std::nullopt;
  if (bytes > DATA_BYTES_MAX) return std::nullopt;
  return bytes;
}

constexpr auto procedures = std::to_array<rpc::Procedure>({
    {"NULL", null, rpc::Replay::idempotent, 0},
    {"COMPOUND", compound, rpc::Replay::cached, MAX_PAYLOAD + 64 * base::KiB, is_minor_0, write_bulk},
});
static_assert(procedures.size() == static_cast<std::size_t>(NFS_V4_procedure::NFSPROC4_COMPOUND) + 1);

constexpr auto versions = std::to_array<rpc::Version>({{NFS_V4, procedures}});

}  // namespace

rpc::Program Nfs4Service::program() { return {NFS4_PROGRAM, "nfs", versions, this}; }

}  // namespace braid::nfs4
