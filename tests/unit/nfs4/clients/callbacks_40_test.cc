// Calls to 4.0 clients, at the address that they gave (TCP).
#include <fcntl.h>
#include <sys/socket.h>

#include <atomic>
#include <string>

#include "callbacks_fixture.h"
#include "nfs4/callback/callback_target.h"
#include "nfs4/callback/universal_address.h"
#include "tests/unit/rpc/tcp_fixture.h"

namespace braid::nfs4::callback {
namespace {

// A 4.0 client's callback service.
class CallbackService final : public rpc::Service {
 public:
  std::atomic<std::uint32_t> calls{0};
  std::atomic<std::uint32_t> ident{0};
};

io::Op<rpc::Answer> cb_compound(rpc::Service& service, rpc::Call& call, rpc::Reply& reply) {
  auto& self = static_cast<CallbackService&>(service);
  CB_COMPOUND4args head;
  nfs_cb_opnum4 op{};
  CB_RECALL4args args;
  const bool good = decode(call.args, head) && decode(call.args, op) && decode(call.args, args) &&
                    head.argarray_count == 1 && head.minorversion == 0 && args.truncate;
  if (!good || call.args.remaining() != 0) return rpc::Answer::garbage_args;
  ++self.calls;
  self.ident = head.callback_ident;
  xdr::Encoder& out = reply.begin();
  encode(out, CB_COMPOUND4res{.status = NFS4ERR_BADHANDLE, .tag = {}, .resarray_count = 1});
  encode(out, op);
  encode(out, NFS4ERR_BADHANDLE);
  return rpc::Answer::success;
}

constexpr rpc::Procedure cb_procedures[] = {{.name = "CB_NULL"}, {"CB_COMPOUND", cb_compound}};
constexpr rpc::Version cb_versions[] = {{NFS_CB, cb_procedures}};

class Callbacks40Test : public CallbacksTest {
 protected:
  clientid4 confirm(const std::string& address, const char* from = "127.0.0.1", std::uint8_t name = 2) {
    return clients_->with([&](state::ClientTable& table) {
      state::Introduction who;
      who.owner = Bytes(4, std::byte{name});
      const auto set = table.set_client_id(std::move(who),
                                           {.program = program,
                                            .ident = 42,
                                            .netid = "tcp",
                                            .address = address,
                                            .from = rpc::parse_address(from, 0)->bytes},
                                           clock_.now());
      EXPECT_TRUE(table.confirm_client_id(set->client, set->confirm, {}, clock_.now()));
      return set->client;
    });
  }
};

std::string universal(const char* host, std::uint16_t port) {
  return std::string(host) + "." + std::to_string(port / 256) + "." + std::to_string(port % 256);
}

// A service that nobody has to be.
struct Silent {
  base::UniqueFd socket = rpc::listen_on(rpc::parse_address("127.0.0.1", 0).value()).value();
  std::uint16_t port = rpc::local_of(socket.get()).value().port;
  // Connections that it was offered; it takes none of their calls.
  std::vector<base::UniqueFd> taken;
  std::size_t offered() {
    (void)::fcntl(socket.get(), F_SETFL, O_NONBLOCK);
    for (;;) {
      base::UniqueFd one(::accept4(socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (one.get() < 0) return taken.size();
      taken.push_back(std::move(one));
    }
  }
};

TEST_F(Callbacks40Test, a_client_that_names_another_host_is_called_when_a_delegation_is_wanted) {
  Silent elsewhere;
  run([&]() -> io::Op<> {
    const clientid4 client = confirm(universal("127.0.0.1", elsewhere.port), "127.0.0.9");
    callbacks_->probe_own(client);
    co_await settle();
    EXPECT_EQ(elsewhere.offered(), 0U);
    EXPECT_FALSE(callbacks_->reachable_soon(client));
    EXPECT_FALSE(callbacks_->reachable_soon(client));
    while (elsewhere.offered() == 0) co_await loop_.reactor().yield();
    co_await settle();
    EXPECT_EQ(elsewhere.offered(), 1U);
    const clientid4 own = confirm(universal("127.0.0.1", elsewhere.port), "127.0.0.1", 3);
    callbacks_->probe_own(own);
    while (elsewhere.offered() == 1) co_await loop_.reactor().yield();
    co_await let_time_run_out();
  });
}

TEST_F(Callbacks40Test, clients_of_one_address_have_a_share_of_the_connections) {
  Silent host;
  callback_options_.paths = {.all = 6, .of_peer = 4};
  run([&]() -> io::Op<> {
    for (std::uint8_t i = 0; i < 20; ++i) {
      callbacks_->probe_own(confirm(universal("127.0.0.1", host.port), "127.0.0.1", 10 + i));
      for (int turns = 0; turns < 50; ++turns) co_await settle();
    }
    EXPECT_EQ(host.offered(), 4U);
    // They have not answered: without a call they make room.
    co_await let_time_run_out();
    const std::size_t before = host.offered();
    callbacks_->probe_own(confirm(universal("127.0.0.1", host.port), "127.0.0.1", 50));
    while (host.offered() == before) co_await loop_.reactor().yield();
    co_await let_time_run_out();
  });
}

TEST_F(Callbacks40Test, few_connections_to_one_address_are_being_made_at_a_time) {
  Connecting connecting(3, 2);
  const base::TimePoint now = clock_.now();
  const rpc::PeerKey one = rpc::peer_key(rpc::parse_address("192.0.2.1", 0).value());
  const rpc::PeerKey other = rpc::peer_key(rpc::parse_address("192.0.2.2", 0).value());
  EXPECT_TRUE(connecting.begin(one, now));
  EXPECT_TRUE(connecting.begin(one, now));
  EXPECT_FALSE(connecting.begin(one, now));
  EXPECT_TRUE(connecting.begin(other, now));
  EXPECT_FALSE(connecting.begin(other, now));
  connecting.end(one, true, now);
  EXPECT_TRUE(connecting.begin(other, now));
}

TEST_F(Callbacks40Test, after_failures_the_next_attempt_for_clients_of_an_address_waits_longer_and_longer) {
  Connecting connecting(3, 2);
  const rpc::PeerKey one = rpc::peer_key(rpc::parse_address("192.0.2.1", 0).value());
  const rpc::PeerKey other = rpc::peer_key(rpc::parse_address("192.0.2.2", 0).value());
  base::TimePoint now = clock_.now();
  for (base::Duration pause = Connecting::pause; pause < 4 * Connecting::pause_max; pause *= 2) {
    const base::Duration expected = std::min(pause, Connecting::pause_max);
    EXPECT_TRUE(connecting.begin(one, now));
    connecting.end(one, false, now);
    EXPECT_FALSE(connecting.begin(one, now + expected - 1ms));
    EXPECT_TRUE(connecting.begin(other, now)) << "of another address";
    connecting.end(other, true, now);
    now += expected;
  }
  EXPECT_TRUE(connecting.begin(one, now));
  connecting.end(one, true, now);
  EXPECT_TRUE(connecting.begin(one, now)) << "one was reached";
}

// Each names a host of its own, and none is there.
TEST_F(Callbacks40Test, failures_of_many_addresses_are_not_all_remembered) {
  Connecting connecting(3, 2);
  const base::TimePoint now = clock_.now();
  const auto host = [](std::size_t i) {
    return rpc::PeerKey{static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(i >> 8U)};
  };
  for (std::size_t i = 0; i <= Connecting::peers_max; ++i) {
    EXPECT_TRUE(connecting.begin(host(i), now));
    connecting.end(host(i), false, now);
  }
  std::size_t forgotten = 0;
  for (std::size_t i = 0; i <= Connecting::peers_max; ++i) {
    if (!connecting.begin(host(i), now)) continue;
    ++forgotten;
    connecting.end(host(i), true, now);
  }
  EXPECT_EQ(forgotten, 1U);
}

TEST(CallbackTarget, is_a_host_that_a_client_may_name) {
  const struct {
    const char* netid;
    const char* address;
    const char* from;
    bool allowed;
    bool own;
  } cases[] = {
      {"tcp", "192.0.2.1.8.1", "192.0.2.1", true, true},
      {"tcp", "192.0.2.1.8.1", "192.0.2.2", true, false},
      {"tcp", "192.0.2.1.0.22", "192.0.2.1", true, true},
      {"tcp", "192.0.2.1.0.22", "192.0.2.2", false, false},
      {"tcp", "192.0.2.1.3.255", "192.0.2.2", false, false},
      {"tcp", "192.0.2.1.4.0", "192.0.2.2", true, false},
      {"tcp", "224.0.0.1.8.1", "192.0.2.2", false, false},
      {"tcp", "255.255.255.255.8.1", "192.0.2.2", false, false},
      {"tcp", "0.0.0.0.8.1", "192.0.2.2", false, false},
      {"tcp", "127.0.0.1.8.1", "192.0.2.2", false, false},
      {"tcp", "127.0.0.1.8.1", "127.0.0.1", true, true},
      {"tcp6", "::1.8.1", "2001:db8::1", false, false},
      {"tcp6", "::.8.1", "2001:db8::1", false, false},
      {"tcp6", "ff02::1.8.1", "2001:db8::1", false, false},
      {"tcp6", "2001:db8::1.8.1", "2001:db8::1", true, true},
      {"tcp", "192.0.2.9.8.1", "192.0.2.2", false, false},
      {"tcp", "192.0.2.9.8.1", "127.0.0.1", true, false},
      {"tcp", "192.0.2.9.8.1", "192.0.2.9", true, true},
  };
  const auto of_this_host = [](const rpc::PeerAddress& address) {
    return address.host() == "127.0.0.1" || address.host() == "::1" || address.host() == "192.0.2.9";
  };
  for (const auto& one : cases) {
    const auto target = callback_target({.program = program,
                                         .ident = 1,
                                         .netid = one.netid,
                                         .address = one.address,
                                         .from = rpc::parse_address(one.from, 0)->bytes},
                                        of_this_host);
    EXPECT_EQ(target.has_value(), one.allowed) << one.address << " from " << one.from;
    EXPECT_EQ(target && target->own, one.own) << one.address;
  }
}

TEST(CallbackTarget, this_host_has_the_addresses_that_sockets_can_be_bound_to) {
  EXPECT_TRUE(rpc::is_of_this_host(rpc::parse_address("127.0.0.7", 2049).value()));
  EXPECT_FALSE(rpc::is_of_this_host(rpc::parse_address("192.0.2.1", 2049).value()));
  EXPECT_FALSE(rpc::is_of_this_host(rpc::parse_address("2001:db8::1", 2049).value()));
}

TEST_F(Callbacks40Test, a_client_is_called_at_its_address) {
  CallbackService service;
  const rpc::Program cb{.number = program, .name = "CB", .versions = cb_versions, .service = &service};
  rpc::test::TcpServer client_side({}, {&cb, 1});
  const std::uint16_t port = client_side.address.port;
  run([&]() -> io::Op<> {
    const clientid4 client =
        confirm("127.0.0.1." + std::to_string(port / 256) + "." + std::to_string(port % 256));
    EXPECT_FALSE(callbacks_->reachable(client));
    callbacks_->probe_own(client);
    while (!callbacks_->reachable(client)) co_await loop_.reactor().yield();
    for (std::uint32_t i = 1; i <= 2; ++i) {
      const CB_RECALL4args args{.stateid = {}, .truncate = true, .fh = {}};
      const auto answer = co_await callbacks_->call(client, nfs_cb_opnum4::OP_CB_RECALL, args).as_result();
      EXPECT_TRUE(answer);
      if (answer) {
        EXPECT_EQ(answer->status, NFS4ERR_BADHANDLE);
      }
      EXPECT_EQ(service.calls, i);
    }
    EXPECT_EQ(service.ident, 42U);
  });
}

TEST_F(Callbacks40Test, a_client_that_cannot_be_reached_is_left_alone_for_a_while) {
  std::uint16_t port;
  {
    rpc::test::TcpServer gone;
    port = gone.address.port;
  }
  run([&]() -> io::Op<> {
    const clientid4 client =
        confirm("127.0.0.1." + std::to_string(port / 256) + "." + std::to_string(port % 256));
    for (int i = 0; i < 2; ++i) {
      const CB_RECALL4args args{.stateid = {}, .truncate = true, .fh = {}};
      const auto answer = co_await callbacks_->call(client, nfs_cb_opnum4::OP_CB_RECALL, args).as_result();
      EXPECT_TRUE(!answer && answer.error() == Failure::no_path);
      EXPECT_FALSE(callbacks_->reachable(client));
    }
  });
}

TEST(UniversalAddress, is_parsed_strictly) {
  const struct {
    const char* netid;
    const char* address;
    const char* text;  // null: refused
  } cases[] = {
      {"tcp", "192.0.2.1.8.1", "192.0.2.1:2049"},
      {"tcp", "192.0.2.1.0.1", "192.0.2.1:1"},
      {"tcp", "192.0.2.1.255.255", "192.0.2.1:65535"},
      {"tcp6", "2001:db8::1.8.1", "[2001:db8::1]:2049"},
      {"tcp", "2001:db8::1.8.1", nullptr},
      {"tcp6", "192.0.2.1.8.1", nullptr},
      {"udp", "192.0.2.1.8.1", nullptr},
      {"tcp", "192.0.2.1.0.0", nullptr},
      {"tcp", "192.0.2.1.256.1", nullptr},
      {"tcp", "192.0.2.1.8", nullptr},
      {"tcp", "192.0.2.1.8.-1", nullptr},
      {"tcp", "192.0.2.1.8.1x", nullptr},
      {"tcp", "host.8.1", nullptr},
      {"tcp", "8.1", nullptr},
      {"tcp", "", nullptr},
  };
  for (const auto& one : cases) {
    const auto parsed = parse_universal_address(one.netid, one.address);
    EXPECT_EQ(parsed.has_value(), one.text != nullptr) << one.address;
    if (parsed && one.text != nullptr) {
      EXPECT_EQ(parsed->text(), one.text);
    }
  }
}

}  // namespace
}  // namespace braid::nfs4::callback
