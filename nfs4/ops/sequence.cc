#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/siphash.h"
#include "nfs4/clients.h"
#include "nfs4/compound/slot_wait.h"
#include "nfs4/ops/client_operations.h"
#include "rpc/bulk_receiver.h"

namespace braid::nfs4::ops {
namespace {

// What must be the same in a true retry: the caller, and what follows SEQUENCE. A whole KiB of it where the
// reply is kept, or a little of a request so long that it may have data in a pipe, which is in memory when
// the request is repeated. Where no reply is kept a retry has nothing to steal, and the length will do.
std::uint64_t fingerprint_of(const Compound& compound, const base::SipKey& key, bool cache_this) {
  constexpr std::size_t kept_bytes = 1024;
  constexpr std::size_t long_bytes = 32;
  struct Prefix {
    std::uint64_t left;
    std::uint32_t operations, flavor, uid, gid;
  };
  std::array<std::byte, sizeof(Prefix) + kept_bytes> text;
  const rpc::Call& call = compound.call();
  const state::Principal who = state::principal_of(call.auth);
  const Prefix prefix{call.args.remaining(), compound.operation_count(), who.flavor, who.uid, who.gid};
  std::memcpy(text.data(), &prefix, sizeof prefix);
  std::size_t bytes = 0;
  if (cache_this) {
    const bool whole = prefix.left < rpc::BulkReceiver::bytes_min;
    const io::InMemory front = call.message.front_in_memory();
    const std::size_t in_memory = front.size() - std::min(front.size(), call.args.position());
    bytes = std::min(in_memory, whole ? kept_bytes : long_bytes);
    if (bytes > 0)
      front.copy_to(call.args.position(), base::MutableBytes(text).subspan(sizeof prefix, bytes));
  }
  return base::siphash24(key, base::BytesView(text).first(sizeof prefix + bytes));
}

// RFC 8881 2.10.6.4. The reply first: the others are errors that must fit.
Result4<void> check_limits(const Compound& compound, const SEQUENCE4args& args,
                           const state::ChannelAttributes& fore) {
  const std::size_t reply_bytes = compound.reply_bytes_taken() + SEQUENCE4resok::encoded_bytes_max;
  if (reply_bytes > fore.response_bytes_max) return refuse(nfsstat4::NFS4ERR_REP_TOO_BIG);
  if (compound.request_bytes() > fore.request_bytes_max) return refuse(nfsstat4::NFS4ERR_REQ_TOO_BIG);
  if (compound.operation_count() > fore.operations_max) return refuse(nfsstat4::NFS4ERR_TOO_MANY_OPS);
  if (args.sa_cachethis && reply_bytes > fore.cached_bytes_max)
    return refuse(nfsstat4::NFS4ERR_REP_TOO_BIG_TO_CACHE);
  return {};
}

}  // namespace

// RFC 8881 18.46. It runs again for a repeated request: the reply that was kept is the whole COMPOUND's.
Op4<SEQUENCE4resok> sequence(Compound& compound, const SEQUENCE4args& args) {
  if (compound.index() != 0) co_return refuse(nfsstat4::NFS4ERR_SEQUENCE_POS);
  Clients& clients = compound.server().clients;
  state::SessionRef session = clients.find_session(args.sa_sessionid);
  if (!session) co_return refuse(nfsstat4::NFS4ERR_BADSESSION);
  co_await check_limits(compound, args, session->fore);
  const state::SlotRequest request{
      .slot = args.sa_slotid,
      .sequence = args.sa_sequenceid,
      .highest_slot = args.sa_highest_slotid,
      .cache_this = args.sa_cachethis,
      .fingerprint = fingerprint_of(compound, clients.hash_key(), args.sa_cachethis)};

  base::TimePoint now = compound.began();
  state::SlotStart start;
  while (true) {
    auto started = co_await SlotWait(*session, request, *io::Reactor::current());
    if (!started) co_return refuse(started.error());
    start = std::move(*started);
    if (start.verdict != state::SlotVerdict::wait) break;
    now = compound.now();
  }
  session->client->renew(now);
  const SEQUENCE4resok out{.sr_sessionid = args.sa_sessionid,
                           .sr_sequenceid = args.sa_sequenceid,
                           .sr_slotid = args.sa_slotid,
                           .sr_highest_slotid = start.highest_slot,
                           .sr_target_highest_slotid = start.target_slot,
                           .sr_status_flags = clients.status_flags(*session)};
  if (start.verdict == state::SlotVerdict::replay) {
    // The slot is not this request's to end.
    compound.replay = std::move(start.reply);
    co_return out;
  }
  const state::ChannelAttributes& fore = session->fore;
  compound.in_session = InSession{.session = std::move(session),
                                  .slot = args.sa_slotid,
                                  .sequence = args.sa_sequenceid,
                                  .cache_this = args.sa_cachethis,
                                  .response_bytes_max = fore.response_bytes_max,
                                  .cached_response_bytes_max = fore.cached_bytes_max,
                                  .retry_uncached = start.verdict == state::SlotVerdict::uncached};
  co_return out;
}

}  // namespace braid::nfs4::ops
