#include "pnfs/control_peer.h"

#include <algorithm>
#include <array>
#include <utility>

namespace braid::pnfs {
namespace {

// Who refuses a call does not execute it, or has.
bool may_run(const PeerError& error) {
  return error.fault != PeerFault::refused && error.fault != PeerFault::no_memory;
}

// Of what results say besides body and bulk data: status, session, sequence number, lengths, MAC.
constexpr std::uint32_t sealed_bytes = 64;
// Of a hello: it names up to ADDRESSES_MAX addresses.
constexpr std::uint32_t hello_bytes = 8192;

// What each object of a batch takes at most in a reply.
template <class Args>
ControlPeer::ReplyBytes of_each(const Args& args) {
  constexpr std::uint32_t each = 32;
  return {.body = static_cast<std::uint32_t>(64 + each * args.size()), .bulk = 0};
}

ControlPeer::ReplyBytes reply_to(const to_data_args& args) {
  if (const auto* const read = args.read())
    return {.body = 1024, .bulk = std::min(read->count, BULK_BYTES_MAX)};
  if (const auto* const stat = args.stat()) return of_each(stat->of);
  if (const auto* const truncate = args.truncate()) return of_each(truncate->objects);
  if (const auto* const remove = args.remove()) return of_each(remove->objects);
  return {};
}
ControlPeer::ReplyBytes reply_to(const to_metadata_args& args) {
  if (const auto* const dirty = args.dirty()) return of_each(dirty->objects);
  return {};
}

rpc::ReplyRoom room_of(const ControlPeer::ReplyBytes& reply) {
  rpc::ReplyRoom room;
  room.items[room.item_count++] = reply.bulk;
  room.rest_bytes = sealed_bytes + reply.body;
  return room;
}

std::uint32_t random_xid() { return static_cast<std::uint32_t>(random_session()); }

}  // namespace

std::string_view name_of(PeerFault fault) {
  constexpr std::array<std::string_view, 6> names{"unreachable", "timed_out", "refused",
                                                  "bad_reply",   "no_memory", "closing"};
  return names.at(static_cast<std::size_t>(fault));
}

ControlPeer::ControlPeer(ControlPath path, io::SlabPool& slabs, const rpc::PeerAddress& to,
                         const ClusterSecret& secret, Own own, Accept accept,
                         const ControlPeerOptions& options)
    : path_(std::move(path)),
      to_(to),
      secret_(secret),
      own_(std::move(own)),
      accept_(std::move(accept)),
      options_(options),
      memory_(slabs),
      client_(path_.reactor, slabs, random_xid()),
      retry_(options.retry_first) {}

PeerError ControlPeer::failed(rpc::CallError error) const {
  using enum rpc::CallError;
  switch (error) {
    case closed:
      return {.fault = closed_ ? PeerFault::closing : PeerFault::unreachable};
    case timed_out:
      return {.fault = PeerFault::timed_out};
    case no_memory:
      return {.fault = PeerFault::no_memory};
    default:
      // There is a server, but none that serves this program, or it cannot take the call.
      return {.fault = PeerFault::bad_reply};
  }
}

void ControlPeer::drop(const std::shared_ptr<ControlSession>& session) {
  if (session_ == session) session_.reset();
}

void ControlPeer::note_failure(const PeerError& error) {
  last_error_ = error;
  not_before_ = path_.reactor.clock().now() + retry_;
  retry_ = std::min(2 * retry_, options_.retry_max);
}

// Whoever finds no session sets one up; the others wait for how that ends.
PeerOp<> ControlPeer::be_in_session() {
  const bool waited = setting_up_;
  co_await SetUpEnded{*this};
  if (closed_) co_await base::fail(PeerError{.fault = PeerFault::closing});
  if (in_session()) co_return;
  if (waited || path_.reactor.clock().now() < not_before_) co_await base::fail(last_error_);
  setting_up_ = true;
  const auto done = co_await set_up().as_result();
  setting_up_ = false;
  if (done)
    retry_ = options_.retry_first;
  else
    note_failure(done.error());
  // A connection that brings no answer to a hello is no better for the next one.
  if (!done && done.error().fault == PeerFault::timed_out) client_.hang_up();
  for (const std::coroutine_handle<> one : std::exchange(waiting_, {}))
    io::ReadyQueue::current().push(io::ReadyItem::of(one));
  if (closed_) co_await base::fail(PeerError{.fault = PeerFault::closing});
  co_await done;
}

PeerOp<> ControlPeer::set_up() {
  session_.reset();
  if (!client_.connected()) co_await connect();
  co_await say_hello();
}

PeerOp<> ControlPeer::connect() {
  const auto connected = co_await path_.connect(to_, client_).as_result();
  // Whoever closes waits for this call, and found no connection to end.
  if (closed_) {
    (void)co_await client_.close().as_result();
    co_await base::fail(PeerError{.fault = PeerFault::closing});
  }
  if (!connected) co_await base::fail(PeerError{.fault = PeerFault::unreachable});
}

template <class Args>
rpc::CallOp<rpc::Results> ControlPeer::plain_call(PNFS_CONTROL_V1_procedure procedure, const Args& args) {
  return client_.call({PNFS_CONTROL, PNFS_CONTROL_V1, static_cast<std::uint32_t>(procedure)},
                      {.auth = {},
                       .timeout = options_.hello_timeout,
                       .room = {.items = {}, .item_count = 0, .rest_bytes = hello_bytes}},
                      [&args](xdr::Encoder& out) { encode(out, args); });
}

PeerOp<> ControlPeer::say_hello() {
  const OwnHello own(own_(), options_.channel);
  const auto greeted = co_await plain_call(PNFS_CONTROL_V1_procedure::CONTROL_HELLO, own.hello()).as_result();
  if (!greeted) co_await base::fail(failed(greeted.error()));
  xdr::Arena arena;
  HELLOres answer;
  xdr::Decoder in = greeted->decoder(arena);
  if (!decode(in, answer)) co_await base::fail(PeerError{.fault = PeerFault::bad_reply});
  const control_welcome* const welcome = answer.welcome();
  if (welcome == nullptr) co_await base::fail(PeerError{PeerFault::refused, answer.status});
  const auto met = meet(secret_, own.hello(), *welcome);
  if (!met) co_await base::fail(PeerError{PeerFault::refused, met.error()});
  Introduction other = introduction_of(welcome->hello);
  if (const control_status fit = accept_(other); fit != control_status::CONTROL_OK)
    co_await base::fail(PeerError{PeerFault::refused, fit});
  const auto proved = co_await plain_call(PNFS_CONTROL_V1_procedure::CONTROL_PROVE, met->prove).as_result();
  if (!proved) co_await base::fail(failed(proved.error()));
  PROVEres proof;
  xdr::Decoder in_proof = proved->decoder(arena);
  if (!decode(in_proof, proof)) co_await base::fail(PeerError{.fault = PeerFault::bad_reply});
  if (proof.status != control_status::CONTROL_OK)
    co_await base::fail(PeerError{PeerFault::refused, proof.status});
  session_ =
      std::make_shared<ControlSession>(met->session_key, welcome->session, own.hello().role, met->signs_bulk);
  other_ = std::move(other);
}

PeerOp<PeerReply> ControlPeer::call(base::Bytes body, io::Payload bulk, base::Duration timeout,
                                    const ReplyBytes& reply_bytes) {
  const rpc::ReplyRoom room = room_of(reply_bytes);
  const io::Gate::Hold running(gate_);
  co_await be_in_session();
  const std::shared_ptr<ControlSession> session = session_;
  const control_sealed sealed = session->seal_call(body, std::move(bulk));
  const auto results = co_await client_
                           .call({PNFS_CONTROL, PNFS_CONTROL_V1,
                                  static_cast<std::uint32_t>(PNFS_CONTROL_V1_procedure::CONTROL_EXCHANGE)},
                                 {.auth = {}, .timeout = timeout, .room = room},
                                 [&sealed](xdr::Encoder& out) { encode(out, sealed); })
                           .as_result();
  auto reply = results ? take(*results, sealed.sequence, session) : base::fail(failed(results.error()));
  if (!reply && may_run(reply.error())) reply.error().running_in = session->id();
  co_return co_await std::move(reply);
}

PeerOp<> ControlPeer::outlast(const PeerError& error) {
  const io::Gate::Hold running(gate_);
  if (session_ != nullptr && session_->id() == error.running_in) session_.reset();
  co_await be_in_session();
}

base::Result<PeerReply, PeerError> ControlPeer::take(const rpc::Results& results, std::uint64_t sequence,
                                                     const std::shared_ptr<ControlSession>& session) {
  xdr::Arena arena;
  EXCHANGEres answer;
  xdr::Decoder in = results.decoder(arena);
  if (!decode(in, answer)) {
    drop(session);
    return base::fail(PeerError{.fault = PeerFault::bad_reply});
  }
  const control_sealed* const sealed = answer.sealed();
  if (sealed == nullptr) {
    // The other side has forgotten the session: there is a new one for the next call.
    if (answer.status == control_status::CONTROL_REFUSED) drop(session);
    return base::fail(PeerError{PeerFault::refused, answer.status});
  }
  if (!session->open_reply(sequence, *sealed)) {
    drop(session);
    return base::fail(PeerError{.fault = PeerFault::bad_reply});
  }
  // Status, session and sequence number, and the length stand before the body.
  constexpr std::size_t before_body = 4 + 8 + 8 + 4;
  return PeerReply{results.message.slice(results.offset + before_body, sealed->body.size()), sealed->bulk};
}

template <class Res>
PeerOp<TypedReply<Res>> ControlPeer::typed(base::Result<base::Bytes> body, std::size_t operation,
                                           io::Payload bulk, base::Duration timeout, ReplyBytes reply_bytes) {
  if (!body) co_await base::fail(PeerError{.fault = PeerFault::no_memory});
  PeerReply reply = co_await call(std::move(*body), std::move(bulk), timeout, reply_bytes);
  TypedReply<Res> out{std::make_unique<xdr::Arena>(), std::move(reply.body), std::move(reply.bulk), Res{}};
  if (!decode_body(out.body, *out.arena, out.result) || out.result.body.index() != operation)
    co_await base::fail(PeerError{.fault = PeerFault::bad_reply});
  co_return std::move(out);
}

PeerOp<TypedReply<to_data_res>> ControlPeer::call_data(const to_data_args& args, io::Payload bulk,
                                                       base::Duration timeout) {
  return typed<to_data_res>(encode_body(args, memory_), args.body.index(), std::move(bulk), timeout,
                            reply_to(args));
}

PeerOp<TypedReply<to_metadata_res>> ControlPeer::call_metadata(const to_metadata_args& args,
                                                               base::Duration timeout) {
  return typed<to_metadata_res>(encode_body(args, memory_), args.body.index(), {}, timeout, reply_to(args));
}

io::Op<> ControlPeer::close() {
  closed_ = true;
  co_await client_.close();
  co_await gate_.drained();
}

}  // namespace braid::pnfs
