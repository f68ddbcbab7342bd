#include "tests/fuzz/nfs4_state/arguments.h"

namespace braid::nfs4::fuzz {

using enum nfs_opnum4;
using test::Request;

namespace {

void add_create_session(Request& request, Bytes& bytes, const Registers& from) {
  const std::array security{callback_sec_parms4::with_SECINFO_AUTH_NONE()};
  CREATE_SESSION4args args;
  const std::uint8_t which = bytes.byte();
  args.csa_clientid = which < 0xf0 ? from.clients.at(which).id : which;
  args.csa_sequence = from.clients.at(which).sequence + bytes.byte() % 4;
  args.csa_flags = bytes.byte() & 7U;
  args.csa_fore_chan_attrs = {.ca_headerpadsize = 0,
                              .ca_maxrequestsize = 1U << (bytes.byte() % 24),
                              .ca_maxresponsesize = 1U << (bytes.byte() % 24),
                              .ca_maxresponsesize_cached = 1U << (bytes.byte() % 16),
                              .ca_maxoperations = 40,
                              .ca_maxrequests = 1U + bytes.byte() % 8,
                              .ca_rdma_ird = {}};
  if ((args.csa_flags & 4U) == 0) {  // most are of use
    args.csa_fore_chan_attrs.ca_maxrequestsize = args.csa_fore_chan_attrs.ca_maxresponsesize = 1U << 20;
    args.csa_fore_chan_attrs.ca_maxresponsesize_cached = 4096;
    args.csa_fore_chan_attrs.ca_maxrequests = 8;
  }
  args.csa_back_chan_attrs = args.csa_fore_chan_attrs;
  args.csa_sec_parms = security;
  request.add(OP_CREATE_SESSION, args);
}

}  // namespace

bool add_client(Request& request, nfs_opnum4 operation, Bytes& bytes, const Registers& from) {
  constexpr std::uint32_t exchange_flags[] = {0, 0, 0x4000'0000, 1, 0x100, 0x8000'0000};
  switch (operation) {
    case OP_SETCLIENTID: {
      SETCLIENTID4args args;
      args.client.id = owner_of(bytes);
      args.client.verifier = {std::byte{static_cast<std::uint8_t>(bytes.byte() % 3)}};
      request.add(operation, args);
      return true;
    }
    case OP_SETCLIENTID_CONFIRM: {
      const std::uint8_t which = bytes.byte();
      request.add(operation, SETCLIENTID_CONFIRM4args{from.client(bytes), from.clients.at(which).confirm});
      return true;
    }
    case OP_EXCHANGE_ID: {
      EXCHANGE_ID4args args;
      args.eia_clientowner.co_ownerid = owner_of(bytes);
      args.eia_clientowner.co_verifier = {std::byte{static_cast<std::uint8_t>(bytes.byte() % 3)}};
      args.eia_flags = bytes.of(exchange_flags);
      request.add(operation, args);
      return true;
    }
    case OP_RENEW:
      request.add(operation, RENEW4args{from.client(bytes)});
      return true;
    case OP_DELEGPURGE:
      request.add(operation, DELEGPURGE4args{from.client(bytes)});
      return true;
    case OP_RELEASE_LOCKOWNER:
      request.add(operation, RELEASE_LOCKOWNER4args{{from.client(bytes), owner_of(bytes)}});
      return true;
    case OP_DESTROY_CLIENTID:
      request.add(operation, DESTROY_CLIENTID4args{from.client(bytes)});
      return true;
    case OP_RECLAIM_COMPLETE:
      request.add(operation, RECLAIM_COMPLETE4args{bytes.flag()});
      return true;
    default:
      return false;
  }
}

bool add_session(Request& request, nfs_opnum4 operation, Bytes& bytes, const Registers& from) {
  constexpr channel_dir_from_client4 directions[] = {
      channel_dir_from_client4::CDFC4_FORE, channel_dir_from_client4::CDFC4_BACK,
      channel_dir_from_client4::CDFC4_FORE_OR_BOTH, channel_dir_from_client4::CDFC4_BACK_OR_BOTH};
  const std::array security{callback_sec_parms4::with_SECINFO_AUTH_NONE()};
  switch (operation) {
    case OP_CREATE_SESSION:
      add_create_session(request, bytes, from);
      return true;
    case OP_SEQUENCE: {
      SEQUENCE4args args;
      args.sa_sessionid = from.sessions.at(bytes.byte());
      args.sa_sequenceid = bytes.byte() % 8;
      args.sa_slotid = bytes.byte() % 9;
      args.sa_highest_slotid = bytes.byte() % 16;
      args.sa_cachethis = bytes.flag();
      request.add(operation, args);
      return true;
    }
    case OP_DESTROY_SESSION:
      request.add(operation, DESTROY_SESSION4args{from.sessions.at(bytes.byte())});
      return true;
    case OP_BIND_CONN_TO_SESSION:
      request.add(operation, BIND_CONN_TO_SESSION4args{from.sessions.at(bytes.byte()), bytes.of(directions),
                                                       bytes.flag()});
      return true;
    case OP_BACKCHANNEL_CTL:
      request.add(operation, BACKCHANNEL_CTL4args{bytes.byte(), security});
      return true;
    case OP_SET_SSV:
      request.add(operation, SET_SSV4args{});
      return true;
    default:
      return false;
  }
}

}  // namespace braid::nfs4::fuzz
