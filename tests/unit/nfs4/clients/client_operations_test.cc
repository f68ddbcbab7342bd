// The operations on clients and sessions in whole COMPOUNDs: what belongs to no state class.
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "nfs4/state/clients/session.h"
#include "nfs4/state/states.h"
#include "tests/unit/nfs4/support/world.h"

namespace braid::nfs4::test {
namespace {

using enum nfs_opnum4;
using enum nfsstat4;
using namespace std::chrono_literals;

EXCHANGE_ID4args introduction(std::string_view owner, std::uint32_t flags = 0) {
  EXCHANGE_ID4args args;
  args.eia_clientowner.co_ownerid = base::bytes_of(owner);
  args.eia_flags = flags;
  return args;
}

CREATE_SESSION4args session_for(clientid4 client, std::uint32_t sequence = 1) {
  const channel_attrs4 channel{.ca_headerpadsize = 64,
                               .ca_maxrequestsize = 8192,
                               .ca_maxresponsesize = 8192,
                               .ca_maxresponsesize_cached = 2048,
                               .ca_maxoperations = 16,
                               .ca_maxrequests = 4,
                               .ca_rdma_ird = {}};
  return {.csa_clientid = client,
          .csa_sequence = sequence,
          .csa_flags = 0,
          .csa_fore_chan_attrs = channel,
          .csa_back_chan_attrs = channel,
          .csa_cb_program = 7,
          .csa_sec_parms = {}};
}

EXCHANGE_ID4resok introduce(World& world, std::string_view owner, std::uint32_t minor = 1) {
  Reply reply = world.send(Request(minor).add(OP_EXCHANGE_ID, introduction(owner)));
  const auto result = reply.result<EXCHANGE_ID4res>(OP_EXCHANGE_ID);
  EXPECT_EQ(result.eir_status, NFS4_OK);
  EXCHANGE_ID4resok out = *result.eir_resok4();
  // What the views show goes with the reply.
  out.eir_server_owner = {};
  out.eir_server_scope = {};
  out.eir_server_impl_id = {};
  return out;
}

TEST(ExchangeId, the_server_says_who_it_is_and_stays_the_same_after_a_restart) {
  World world;
  const auto owner_of = [&] {
    Reply reply = world.send(Request(1).add(OP_EXCHANGE_ID, introduction("client")));
    const auto result = reply.result<EXCHANGE_ID4res>(OP_EXCHANGE_ID);
    const EXCHANGE_ID4resok& ok = *result.eir_resok4();
    EXPECT_EQ(ok.eir_flags, EXCHGID4_FLAG_USE_NON_PNFS);
    EXPECT_EQ(ok.eir_server_impl_id.size(), 1U);
    EXPECT_TRUE(base::equal(ok.eir_server_scope, ok.eir_server_owner.so_major_id));
    return std::pair(std::string(base::text_of(ok.eir_server_owner.so_major_id)), ok.eir_clientid);
  };
  const auto before = owner_of();
  world.restart();
  const auto after = owner_of();
  EXPECT_FALSE(before.first.empty());
  EXPECT_EQ(before.first, after.first);
  EXPECT_NE(before.second, after.second);
}

TEST(ExchangeId, flags_of_a_later_minor_version_are_refused) {
  World world;
  const struct {
    std::uint32_t minor, flags;
    nfsstat4 status;
  } cases[] = {{1, EXCHGID4_FLAG_SUPP_FENCE_OPS, NFS4ERR_INVAL},
               {2, EXCHGID4_FLAG_SUPP_FENCE_OPS, NFS4_OK},
               {1, EXCHGID4_FLAG_CONFIRMED_R, NFS4ERR_INVAL},
               {1, 0x8, NFS4ERR_INVAL},
               {1, EXCHGID4_FLAG_USE_PNFS_DS | EXCHGID4_FLAG_SUPP_MOVED_REFER, NFS4_OK},
               {1, EXCHGID4_FLAG_UPD_CONFIRMED_REC_A, NFS4ERR_NOENT}};
  for (const auto& one : cases) {
    Request request(one.minor);
    request.add(OP_EXCHANGE_ID, introduction("flags", one.flags));
    EXPECT_EQ(world.send(request).status(), one.status) << one.flags;
  }
}

TEST(ExchangeId, protection_that_needs_kerberos_is_refused) {
  World world;
  EXCHANGE_ID4args args = introduction("protected");
  args.eia_state_protect = state_protect4_a::with_spa_mach_ops({});
  EXPECT_EQ(world.send(Request(1).add(OP_EXCHANGE_ID, args)).status(), NFS4ERR_INVAL);
  args.eia_state_protect = state_protect4_a::with_spa_ssv_parms({});
  EXPECT_EQ(world.send(Request(1).add(OP_EXCHANGE_ID, args)).status(), NFS4ERR_ENCR_ALG_UNSUPP);
}

TEST(CreateSession, agrees_on_attributes_and_repeats_its_answer) {
  World world;
  const EXCHANGE_ID4resok client = introduce(world, "client");
  const auto create = [&] {
    Reply reply = world.send(Request(1).add(OP_CREATE_SESSION, session_for(client.eir_clientid)));
    return *reply.result<CREATE_SESSION4res>(OP_CREATE_SESSION).csr_resok4();
  };
  const CREATE_SESSION4resok made = create();
  EXPECT_EQ(made.csr_fore_chan_attrs.ca_headerpadsize, 0U);
  EXPECT_EQ(made.csr_fore_chan_attrs.ca_maxrequests, 4U);
  EXPECT_EQ(made.csr_fore_chan_attrs.ca_maxoperations, 16U);
  EXPECT_EQ(made.csr_back_chan_attrs.ca_maxoperations, 2U);
  EXPECT_EQ(create(), made);
}

TEST(CreateSession, takes_the_first_callback_flavor_that_it_knows) {
  World world;
  const auto gss =
      callback_sec_parms4::with_cbsp_gss_handles({.gcbp_service = rpc_gss_svc_t::RPC_GSS_SVC_PRIVACY});
  const auto sys = callback_sec_parms4::with_cbsp_sys_cred({.machinename = "host", .uid = 5, .gid = 6});
  const auto none = callback_sec_parms4::with_SECINFO_AUTH_NONE();
  const std::array mixed{gss, sys, none};
  const std::array hopeless{gss};
  CREATE_SESSION4args args = session_for(introduce(world, "client").eir_clientid);
  args.csa_sec_parms = hopeless;
  EXPECT_EQ(world.send(Request(1).add(OP_CREATE_SESSION, args)).status(), NFS4ERR_ENCR_ALG_UNSUPP);
  args.csa_sec_parms = mixed;
  Reply reply = world.send(Request(1).add(OP_CREATE_SESSION, args));
  ASSERT_EQ(reply.status(), NFS4_OK);
  const auto result = reply.result<CREATE_SESSION4res>(OP_CREATE_SESSION);
  const auto session = world.engine().state().clients.find_session(result.csr_resok4()->csr_sessionid);
  const state::CallbackParameters callback = session->callback();
  const auto* auth = std::get_if<rpc::AuthSys>(&callback.auth);
  ASSERT_NE(auth, nullptr);
  EXPECT_EQ(auth->uid, 5U);
}

TEST(Sequence, says_what_it_was_asked_and_its_limits) {
  World world;
  SessionClient client(world, 1, "client");
  const auto send = [&](SEQUENCE4args args) {
    Reply reply = world.send(Request(1).add(OP_SEQUENCE, args));
    return reply.result<SEQUENCE4res>(OP_SEQUENCE);
  };
  const auto result = send({client.session(), 1, 2, 3, false});
  ASSERT_EQ(result.sr_status, NFS4_OK);
  const SEQUENCE4resok& ok = *result.sr_resok4();
  EXPECT_EQ(ok.sr_sessionid, client.session());
  EXPECT_EQ(ok.sr_sequenceid, 1U);
  EXPECT_EQ(ok.sr_slotid, 2U);
  EXPECT_EQ(ok.sr_highest_slotid + 1, client.fore().ca_maxrequests);
  EXPECT_EQ(ok.sr_target_highest_slotid, ok.sr_highest_slotid);
  EXPECT_EQ(send({{}, 1, 0, 0, false}).sr_status, NFS4ERR_BADSESSION);
  EXPECT_EQ(send({client.session(), 3, 2, 2, false}).sr_status, NFS4ERR_SEQ_MISORDERED);
  EXPECT_EQ(send({client.session(), 1, client.fore().ca_maxrequests, 0, false}).sr_status, NFS4ERR_BADSLOT);
}

TEST(Sequence, a_kept_reply_is_repeated_byte_for_byte_and_executed_once) {
  World world;
  SessionClient client(world, 1, "client");
  const auto make = [&](Request request) {
    return request.add(OP_PUTROOTFH)
        .add(OP_CREATE, CREATE4args{createtype4::with_NF4SOCK(nfs_ftype4::NF4DIR), "d", {}});
  };
  const Reply first = world.send(make(client.request(0, true)), client.caller());
  EXPECT_EQ(first.status(), NFS4_OK);
  const Reply again = world.send(make(client.again(0, true)), client.caller());
  base::Bytes a(first.bytes().size());
  base::Bytes b(again.bytes().size());
  first.bytes().in_memory().value().copy_to(0, a);
  again.bytes().in_memory().value().copy_to(0, b);
  EXPECT_EQ(a, b);
}

// RECLAIM_COMPLETE waits for the disk, and a second one would be refused.
TEST(Sequence, a_repeated_request_gets_the_reply_of_the_one_that_runs) {
  World world;
  SessionClient client(world, 1, "client", {}, false);
  const RECLAIM_COMPLETE4args all{false};
  Request first = client.request(0, true);
  Request second = client.again(0, true);
  const auto running = world.start(first.add(OP_RECLAIM_COMPLETE, all), client.caller());
  const auto waiting = world.start(second.add(OP_RECLAIM_COMPLETE, all), client.caller());
  const Reply replies[] = {world.wait(running), world.wait(waiting)};
  for (const Reply& reply : replies) EXPECT_EQ(reply.status(), NFS4_OK);
  EXPECT_EQ(replies[0].count(), 2U);
  EXPECT_EQ(replies[1].count(), 2U);
}

TEST(Sequence, a_retry_with_another_body_is_a_false_one) {
  World world;
  SessionClient client(world, 1, "client");
  EXPECT_EQ(world.send(client.request(0, true).add(OP_PUTROOTFH), client.caller()).status(), NFS4_OK);
  Request other = client.again(0, true);
  EXPECT_EQ(world.send(other.add(OP_PUTPUBFH), client.caller()).status(), NFS4ERR_SEQ_FALSE_RETRY);
  Request longer = client.again(0, true);
  EXPECT_EQ(world.send(longer.add(OP_PUTROOTFH).add(OP_GETFH), client.caller()).status(),
            NFS4ERR_SEQ_FALSE_RETRY);
  Request by_another = client.again(0, true);
  const Caller another{.uid = 77, .gid = 77};
  EXPECT_EQ(world.send(by_another.add(OP_PUTROOTFH), another).status(), NFS4ERR_SEQ_FALSE_RETRY);
}

TEST(Sequence, a_reply_that_nobody_wanted_kept_is_not_there) {
  World world;
  SessionClient client(world, 1, "client");
  EXPECT_EQ(world.send(client.request().add(OP_PUTROOTFH), client.caller()).status(), NFS4_OK);
  Request again = client.again();
  Reply reply = world.send(again.add(OP_PUTROOTFH), client.caller());
  EXPECT_EQ(reply.status(), NFS4ERR_RETRY_UNCACHED_REP);
  EXPECT_EQ(reply.result<SEQUENCE4res>(OP_SEQUENCE).sr_status, NFS4_OK);
  EXPECT_EQ(reply.status_of(OP_PUTROOTFH), NFS4ERR_RETRY_UNCACHED_REP);
  // The slot goes on.
  EXPECT_EQ(world.send(client.request().add(OP_PUTROOTFH), client.caller()).status(), NFS4_OK);
}

// What is wrong with the first operation behind SEQUENCE is not looked for again.
TEST(Sequence, a_repeated_request_with_two_sequences_is_not_executed_either) {
  World world;
  SessionClient client(world, 1, "client");
  const SEQUENCE4args another{.sa_sessionid = client.session(), .sa_sequenceid = 7};
  EXPECT_EQ(world.send(client.request().add(OP_SEQUENCE, another), client.caller()).status(),
            NFS4ERR_SEQUENCE_POS);
  Request again = client.again();
  EXPECT_EQ(world.send(again.add(OP_SEQUENCE, another), client.caller()).status(),
            NFS4ERR_RETRY_UNCACHED_REP);
}

TEST(DestroySession, is_the_last_operation_of_its_own_session) {
  World world;
  SessionClient client(world, 1, "client");
  const DESTROY_SESSION4args args{client.session()};
  EXPECT_EQ(
      world.send(client.request().add(OP_DESTROY_SESSION, args).add(OP_PUTROOTFH), client.caller()).status(),
      NFS4ERR_NOT_ONLY_OP);
  EXPECT_EQ(world.send(client.request().add(OP_DESTROY_SESSION, args), client.caller()).status(), NFS4_OK);
  EXPECT_EQ(world.send(client.request().add(OP_PUTROOTFH), client.caller()).status(), NFS4ERR_BADSESSION);
  EXPECT_EQ(world.send(Request(1).add(OP_DESTROY_SESSION, args)).status(), NFS4ERR_BADSESSION);
}

TEST(DestroyClientid, needs_a_client_without_sessions) {
  World world;
  SessionClient client(world, 1, "client");
  const DESTROY_CLIENTID4args args{client.id()};
  EXPECT_EQ(world.send(Request(1).add(OP_DESTROY_CLIENTID, args)).status(), NFS4ERR_CLIENTID_BUSY);
  EXPECT_EQ(world.send(client.request().add(OP_DESTROY_CLIENTID, args), client.caller()).status(),
            NFS4ERR_CLIENTID_BUSY);
  EXPECT_EQ(world.send(Request(1).add(OP_DESTROY_SESSION, DESTROY_SESSION4args{client.session()})).status(),
            NFS4_OK);
  EXPECT_EQ(world.send(Request(1).add(OP_DESTROY_CLIENTID, args)).status(), NFS4_OK);
  EXPECT_EQ(world.send(Request(1).add(OP_DESTROY_CLIENTID, args)).status(), NFS4ERR_STALE_CLIENTID);
}

TEST(DestroyClientid, leaves_nobody_whom_a_restarted_server_waits_for) {
  World world;
  SessionClient client(world, 1, "client");
  EXPECT_EQ(world.send(Request(1).add(OP_DESTROY_SESSION, DESTROY_SESSION4args{client.session()})).status(),
            NFS4_OK);
  EXPECT_EQ(world.send(Request(1).add(OP_DESTROY_CLIENTID, DESTROY_CLIENTID4args{client.id()})).status(),
            NFS4_OK);
  world.restart();
  EXPECT_FALSE(world.engine().state().clients.in_grace());
}

TEST(BindConnToSession, stands_alone) {
  World world;
  SessionClient client(world, 1, "client");
  const BIND_CONN_TO_SESSION4args args{.bctsa_sessid = client.session(),
                                       .bctsa_dir = channel_dir_from_client4::CDFC4_FORE_OR_BOTH};
  Reply reply = world.send(Request(1).add(OP_BIND_CONN_TO_SESSION, args));
  const auto result = reply.result<BIND_CONN_TO_SESSION4res>(OP_BIND_CONN_TO_SESSION);
  ASSERT_EQ(result.bctsr_status, NFS4_OK);
  EXPECT_EQ(result.bctsr_resok4()->bctsr_sessid, client.session());
  EXPECT_EQ(world.send(client.request().add(OP_BIND_CONN_TO_SESSION, args), client.caller()).status(),
            NFS4ERR_NOT_ONLY_OP);
  EXPECT_EQ(
      world
          .send(Request(1).add(OP_BIND_CONN_TO_SESSION,
                               BIND_CONN_TO_SESSION4args{.bctsa_sessid = {},
                                                         .bctsa_dir = channel_dir_from_client4::CDFC4_FORE}))
          .status(),
      NFS4ERR_BADSESSION);
}

TEST(BackchannelCtl, changes_the_program) {
  World world;
  SessionClient client(world, 1, "client");
  const BACKCHANNEL_CTL4args args{.bca_cb_program = 99, .bca_sec_parms = {}};
  EXPECT_EQ(world.send(client.request().add(OP_BACKCHANNEL_CTL, args), client.caller()).status(), NFS4_OK);
  EXPECT_EQ(world.engine().state().clients.find_session(client.session())->callback().program, 99U);
}

TEST(ReclaimComplete, is_said_once) {
  World world;
  SessionClient client(world, 1, "client", {}, false);
  const RECLAIM_COMPLETE4args one_fs{true};
  const RECLAIM_COMPLETE4args all{false};
  EXPECT_EQ(world.send(client.request().add(OP_RECLAIM_COMPLETE, one_fs), client.caller()).status(),
            NFS4ERR_NOFILEHANDLE);
  EXPECT_EQ(world.send(client.request().add(OP_PUTROOTFH).add(OP_RECLAIM_COMPLETE, one_fs), client.caller())
                .status(),
            NFS4_OK);
  EXPECT_EQ(world.send(client.request().add(OP_RECLAIM_COMPLETE, all), client.caller()).status(), NFS4_OK);
  EXPECT_EQ(world.send(client.request().add(OP_RECLAIM_COMPLETE, all), client.caller()).status(),
            NFS4ERR_COMPLETE_ALREADY);
}

TEST(GracePeriod, ends_early_once_all_known_clients_have_reclaimed) {
  World world;
  {
    SessionClient client(world, 1, "client");
  }
  world.restart();
  const Clients& clients = world.engine().state().clients;
  EXPECT_TRUE(clients.in_grace());
  SessionClient stranger(world, 1, "stranger");
  world.tick();
  EXPECT_TRUE(clients.in_grace());
  SessionClient client(world, 1, "client");
  world.tick();
  EXPECT_FALSE(clients.in_grace());
}

TEST(GracePeriod, ends_after_a_lease_and_leaves_out_who_missed_it) {
  World world;
  {
    SessionClient client(world, 1, "client");
  }
  world.restart();
  world.advance(89s);
  world.tick();
  EXPECT_TRUE(world.engine().state().clients.in_grace());
  world.advance(1s);
  world.tick();
  EXPECT_FALSE(world.engine().state().clients.in_grace());
  world.restart();
  EXPECT_FALSE(world.engine().state().clients.in_grace());
}

// A client of 4.0 cannot say that it is done; but it says by its verifier that what it held is gone.
TEST(GracePeriod, does_not_wait_for_a_client_of_40_that_has_begun_anew) {
  World world;
  const auto introduce = [&](std::uint8_t life) {
    SETCLIENTID4args hello;
    hello.client.id = base::bytes_of(std::string_view("old client"));
    hello.client.verifier.back() = std::byte{life};
    Reply met = world.send(Request(0).add(OP_SETCLIENTID, hello));
    const auto result = met.result<SETCLIENTID4res>(OP_SETCLIENTID);
    EXPECT_EQ(result.status, NFS4_OK);
    const SETCLIENTID_CONFIRM4args confirm{result.resok4()->clientid, result.resok4()->setclientid_confirm};
    EXPECT_EQ(world.send(Request(0).add(OP_SETCLIENTID_CONFIRM, confirm)).status(), NFS4_OK);
    return result.resok4()->clientid;
  };
  const auto waits = [&] {
    world.tick();
    return world.engine().state().clients.in_grace();
  };
  const clientid4 id = introduce(1);
  world.on_engine([&](Nfs4Engine& engine) -> io::Op<> {
    Clients& clients = engine.state().clients;
    const auto client = clients.with([&](state::ClientTable& table) { return table.find_any(id); });
    EXPECT_TRUE(co_await clients.ensure_recorded(client).as_result()) << "it opens a file";
  });
  world.restart();
  introduce(1);
  EXPECT_TRUE(waits()) << "it may have something to reclaim";
  world.restart();
  introduce(2);
  EXPECT_FALSE(waits());
}

TEST(Lease, a_session_without_state_ends_with_it) {
  World world;
  SessionClient client(world, 1, "client");
  world.advance(80s);
  EXPECT_EQ(world.send(client.request().add(OP_PUTROOTFH), client.caller()).status(), NFS4_OK);
  world.advance(80s);
  world.tick();
  EXPECT_EQ(world.send(client.request().add(OP_PUTROOTFH), client.caller()).status(), NFS4_OK);
  world.advance(91s);
  world.tick();
  EXPECT_EQ(world.send(client.request().add(OP_PUTROOTFH), client.caller()).status(), NFS4ERR_BADSESSION);
}

// RFC 7530
SETCLIENTID4resok set_client_id(World& world, std::string_view name, std::uint32_t program = 0) {
  SETCLIENTID4args args;
  args.client.id = base::bytes_of(name);
  args.callback = {.cb_program = program, .cb_location = {.na_r_netid = "tcp", .na_r_addr = "192.0.2.1.8.1"}};
  Reply reply = world.send(Request(0).add(OP_SETCLIENTID, args));
  const auto result = reply.result<SETCLIENTID4res>(OP_SETCLIENTID);
  EXPECT_EQ(result.status, NFS4_OK);
  return *result.resok4();
}

TEST(Renew, keeps_a_4_0_client) {
  World world;
  const SETCLIENTID4resok set = set_client_id(world, "client");
  const RENEW4args args{set.clientid};
  EXPECT_EQ(world.send(Request(0).add(OP_RENEW, args)).status(), NFS4ERR_STALE_CLIENTID);
  const SETCLIENTID_CONFIRM4args confirm{set.clientid, set.setclientid_confirm};
  EXPECT_EQ(world.send(Request(0).add(OP_SETCLIENTID_CONFIRM, confirm)).status(), NFS4_OK);
  for (int i = 0; i < 3; ++i) {
    world.advance(60s);
    world.tick();
    EXPECT_EQ(world.send(Request(0).add(OP_RENEW, args)).status(), NFS4_OK);
  }
  world.advance(91s);
  world.tick();
  EXPECT_EQ(world.send(Request(0).add(OP_RENEW, args)).status(), NFS4ERR_EXPIRED);
  EXPECT_EQ(world.send(Request(0).add(OP_RENEW, RENEW4args{0})).status(), NFS4ERR_STALE_CLIENTID);
  world.restart();
  EXPECT_EQ(world.send(Request(0).add(OP_RENEW, args)).status(), NFS4ERR_STALE_CLIENTID);
}

// RFC 7530 16.28.5. Nobody can be called back in this world.
TEST(Renew, tells_a_client_with_delegations_that_it_cannot_be_called) {
  World world;
  const SETCLIENTID4resok set = set_client_id(world, "client");
  const SETCLIENTID_CONFIRM4args confirm{set.clientid, set.setclientid_confirm};
  ASSERT_EQ(world.send(Request(0).add(OP_SETCLIENTID_CONFIRM, confirm)).status(), NFS4_OK);
  const ServerState& server = world.engine().state();
  const state::ClientRef client = *server.clients.find_and_renew_40(set.clientid, world.clock().now());
  const bool given = server.states.with([&](state::States& states) {
    state::DeferredWork after;
    vfs::FileHandle file;
    file.size = 4;
    const auto opened = states.opens().open({.client = client,
                                             .minor_version = 0,
                                             .owner = "owner",
                                             .file = file,
                                             .share = {.access = state::share_read, .deny = 0},
                                             .opener = {},
                                             .descriptor = nullptr,
                                             .wish = state::DelegationWish::read,
                                             .reclaim = true,
                                             .now = world.clock().now()},
                                            after);
    state::DelegationRequest request;
    request.reclaim = true;
    request.now = world.clock().now();
    return opened && states.delegations().give(*opened, request);
  });
  ASSERT_TRUE(given);
  const Request renew = Request(0).add(OP_RENEW, RENEW4args{set.clientid});
  world.advance(80s);
  EXPECT_EQ(world.send(renew).status(), NFS4ERR_CB_PATH_DOWN);
  world.advance(80s);
  world.tick();
  EXPECT_EQ(client->standing(), state::Standing::confirmed) << "the lease is renewed nevertheless";
  server.states.with([&](state::States& states) { states.drop_client(client->id); });
  EXPECT_EQ(world.send(renew).status(), NFS4_OK);
}

TEST(Eviction, a_client_loses_what_it_has_and_begins_anew) {
  World world;
  SessionClient client(world, 1, "client");
  const auto evict = [&](clientid4 id) {
    std::optional<bool> gone;
    world.on_engine([&](Nfs4Engine& engine) -> io::Op<> { gone = *co_await engine.evict(id).as_result(); });
    return gone;
  };
  EXPECT_EQ(evict(client.id()), true);
  EXPECT_EQ(evict(client.id()), false);
  EXPECT_EQ(world.send(client.request().add(OP_PUTROOTFH), client.caller()).status(), NFS4ERR_BADSESSION);
  const SessionClient again(world, 1, "client");
  EXPECT_NE(again.id(), client.id());
}

}  // namespace
}  // namespace braid::nfs4::test
