#include "bench/load/nfs4_client.h"

#include <fmt/format.h>

#include <array>
#include <cstring>

#include "bench/load/parallel.h"

namespace braid::load {

namespace {

using enum nfs4::nfs_opnum4;
using enum nfs4::nfsstat4;

// The largest READ and WRITE and what is around them.
constexpr std::uint32_t message_bytes_max = base::MiB + 16 * base::KiB;
constexpr std::uint32_t cached_bytes_max = 2048;
constexpr std::uint32_t operations_max = 16;
// Nobody listens there: RFC 5531 section 8.2, the first of the transient numbers.
constexpr std::uint32_t callback_program = 0x40000000;

// A new incarnation of whoever had this name: names are not used twice.
constexpr nfs4::verifier4 verifier{};

}  // namespace

LoadOp<> Nfs4Client::begin() {
  if (minor_version_ == 0) {
    co_await set_client_id();
  } else {
    co_await exchange_id();
    co_await create_session();
  }
  lanes_.resize(width_);
  for (unsigned i = width_; i-- > 0;) {
    lanes_[i].slot = i;
    lanes_[i].owner = fmt::format("{}.{}", name_, i);
    free_.push_back(&lanes_[i]);
  }
  if (minor_version_ > 0) co_await reclaim_complete();
}

LoadOp<> Nfs4Client::end() {
  if (minor_version_ == 0 || lost_) co_return;
  // RFC 8881 18.37.3 and 18.50.3: both may be sent alone.
  if (session_)
    co_await call_alone<Done>(step(OP_DESTROY_SESSION, nfs4::DESTROY_SESSION4args{*session_}),
                              expect(OP_DESTROY_SESSION));
  if (known_)
    co_await call_alone<Done>(step(OP_DESTROY_CLIENTID, nfs4::DESTROY_CLIENTID4args{id_}),
                              expect(OP_DESTROY_CLIENTID));
}

template <class T, class Args, class Look>
LoadOp<T> Nfs4Client::call_alone(Step<Args> alone, Look look) {
  return insist<T>(connection_.reactor(), [this, alone, look] {
    return connection_.call<T>(
        compound_id(),
        [this, &alone](xdr::Encoder& out) {
          put_head(out, 1);
          encode(out, alone);
        },
        [&look](xdr::Decoder& in) {
          Results results(in);
          return look(results);
        });
  });
}

// RFC 7530 16.33. The address is nobody's, so the server delegates nothing.
LoadOp<> Nfs4Client::set_client_id() {
  const nfs4::SETCLIENTID4args args{
      .client = {.verifier = verifier, .id = base::bytes_of(name_)},
      .callback = {.cb_program = callback_program, .cb_location = {"tcp", "0.0.0.0.0.0"}},
      .callback_ident = 1};
  const auto given = co_await call_alone<nfs4::SETCLIENTID4resok>(
      step(OP_SETCLIENTID, args), [](Results& results) -> base::Result<nfs4::SETCLIENTID4resok, Fault> {
        nfs4::SETCLIENTID4resok body;
        if (!results.next(OP_SETCLIENTID, body)) return base::fail(results.fault());
        return body;
      });
  id_ = given.clientid;
  co_await call_alone<Done>(
      step(OP_SETCLIENTID_CONFIRM, nfs4::SETCLIENTID_CONFIRM4args{id_, given.setclientid_confirm}),
      expect(OP_SETCLIENTID_CONFIRM));
}

LoadOp<> Nfs4Client::exchange_id() {
  const nfs4::EXCHANGE_ID4args args{
      .eia_clientowner = {.co_verifier = verifier, .co_ownerid = base::bytes_of(name_)},
      .eia_flags = part_ == Part::data ? nfs4::EXCHGID4_FLAG_USE_PNFS_DS : 0U};
  co_await call_alone<Done>(step(OP_EXCHANGE_ID, args),
                            [this](Results& results) -> base::Result<Done, Fault> {
                              nfs4::EXCHANGE_ID4resok body;
                              if (!results.next(OP_EXCHANGE_ID, body)) return base::fail(results.fault());
                              id_ = body.eir_clientid;
                              sequence_ = body.eir_sequenceid;
                              known_ = true;
                              return Done{};
                            });
}

// Without a back channel the server delegates nothing.
LoadOp<> Nfs4Client::create_session() {
  const std::array<nfs4::callback_sec_parms4, 1> security{
      nfs4::callback_sec_parms4::with_SECINFO_AUTH_NONE()};
  const nfs4::CREATE_SESSION4args args{
      .csa_clientid = id_,
      .csa_sequence = sequence_,
      .csa_flags = part_ == Part::layouts ? nfs4::CREATE_SESSION4_FLAG_CONN_BACK_CHAN : 0U,
      .csa_fore_chan_attrs = {.ca_maxrequestsize = message_bytes_max,
                              .ca_maxresponsesize = message_bytes_max,
                              .ca_maxresponsesize_cached = cached_bytes_max,
                              .ca_maxoperations = operations_max,
                              .ca_maxrequests = width_},
      .csa_back_chan_attrs = {.ca_maxrequestsize = 4096,
                              .ca_maxresponsesize = 4096,
                              .ca_maxresponsesize_cached = 0,
                              .ca_maxoperations = 2,
                              .ca_maxrequests = 1},
      .csa_cb_program = callback_program,
      .csa_sec_parms = security};
  co_await call_alone<Done>(
      step(OP_CREATE_SESSION, args), [this](Results& results) -> base::Result<Done, Fault> {
        nfs4::CREATE_SESSION4resok body;
        if (!results.next(OP_CREATE_SESSION, body)) return base::fail(results.fault());
        session_ = body.csr_sessionid;
        if (body.csr_fore_chan_attrs.ca_maxrequests < width_)
          return base::fail(Fault{"the server's sessions have fewer slots than --depth"});
        return Done{};
      });
}

LoadOp<> Nfs4Client::reclaim_complete() {
  const Turn turn(*this);
  co_await insist<Done>(connection_.reactor(), [this, &turn] {
    return call<Done>(*turn, Keep::no, steps(step(OP_RECLAIM_COMPLETE, nfs4::RECLAIM_COMPLETE4args{})),
                      expect(OP_RECLAIM_COMPLETE));
  });
}

void Nfs4Client::put_head(xdr::Encoder& out, std::size_t operations) const {
  encode(out, nfs4::COMPOUND4args{.tag = {},
                                  .minorversion = minor_version_,
                                  .argarray_count = static_cast<std::uint32_t>(operations)});
}

void Nfs4Client::put_sequence(xdr::Encoder& out, const Lane& lane, Keep keep) const {
  encode(out, OP_SEQUENCE);
  // While the load runs all slots are in use.
  encode(out, nfs4::SEQUENCE4args{.sa_sessionid = *session_,
                                  .sa_sequenceid = lane.sequence,
                                  .sa_slotid = lane.slot,
                                  .sa_highest_slotid = width_ - 1,
                                  .sa_cachethis = keep == Keep::yes});
}

bool Nfs4Client::take_sequence(Results& results, Lane& lane) {
  nfs4::SEQUENCE4resok given;
  if (!results.next(OP_SEQUENCE, given)) {
    note(results.status());
    return false;
  }
  // RFC 8881 2.10.6.1: the slot goes on when its SEQUENCE was accepted.
  ++lane.sequence;
  return given.sr_sequenceid + 1 == lane.sequence && given.sr_slotid == lane.slot;
}

void Nfs4Client::note(nfs4::nfsstat4 status) {
  switch (status) {
    case NFS4ERR_BADSESSION:
    case NFS4ERR_DEADSESSION:
    case NFS4ERR_STALE_CLIENTID:
    case NFS4ERR_STALE_STATEID:
    case NFS4ERR_EXPIRED:
      lost_ = true;
      break;
    default:
      break;
  }
}

Lane& Nfs4Client::take() {
  base::check(!free_.empty(), "not more calls at a time than lanes");
  Lane& lane = *free_.back();
  free_.pop_back();
  return lane;
}

}  // namespace braid::load
