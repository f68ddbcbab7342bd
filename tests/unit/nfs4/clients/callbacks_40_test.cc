// Calls to 4.0 clients, at the address that they gave (TCP).
#include <atomic>
#include <string>

#include "callbacks_fixture.h"
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
  clientid4 confirm(const std::string& address) {
    return clients_->with([&](state::ClientTable& table) {
      state::Introduction who;
      who.owner = Bytes(4, std::byte{2});
      const auto set = table.set_client_id(
          std::move(who), {.program = program, .ident = 42, .netid = "tcp", .address = address},
          clock_.now());
      EXPECT_TRUE(table.confirm_client_id(set->client, set->confirm, {}, clock_.now()));
      return set->client;
    });
  }
};

TEST_F(Callbacks40Test, a_client_is_called_at_its_address) {
  CallbackService service;
  const rpc::Program cb{.number = program, .name = "CB", .versions = cb_versions, .service = &service};
  rpc::test::TcpServer client_side({}, {&cb, 1});
  const std::uint16_t port = client_side.address.port;
  run([&]() -> io::Op<> {
    const clientid4 client =
        confirm("127.0.0.1." + std::to_string(port / 256) + "." + std::to_string(port % 256));
    EXPECT_FALSE(callbacks_->reachable(client));
    callbacks_->probe(client);
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
