// libtirpc, the reference implementation of ONC RPC, as client of our server.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <rpc/rpc.h>

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "tests/unit/rpc/oracle_server.h"

namespace braid::rpc {
namespace {

struct DestroyClient {
  void operator()(CLIENT* client) const { clnt_destroy(client); }
};
using TirpcClient = std::unique_ptr<CLIENT, DestroyClient>;
struct DestroyAuth {
  void operator()(AUTH* auth) const { auth_destroy(auth); }
};
using TirpcAuth = std::unique_ptr<AUTH, DestroyAuth>;

constexpr timeval patience{.tv_sec = 20, .tv_usec = 0};

bool_t xdr_nothing(XDR*, void*) { return TRUE; }

struct Opaque {
  std::vector<char> bytes;
};
bool_t xdr_opaque_of(XDR* xdrs, Opaque* data) {
  auto length = static_cast<unsigned>(data->bytes.size());
  if (!xdr_u_int(xdrs, &length) || length > 2'000'000) return FALSE;
  data->bytes.resize(length);
  return xdr_opaque(xdrs, data->bytes.data(), length);
}
struct Who {
  std::uint32_t flavor = 9;
  std::uint32_t uid = 9;
  std::uint32_t gid = 9;
  std::vector<std::uint32_t> groups;
};
bool_t xdr_who(XDR* xdrs, Who* who) {
  std::uint32_t count = 0;
  if (!xdr_uint32_t(xdrs, &who->flavor) || !xdr_uint32_t(xdrs, &who->uid) || !xdr_uint32_t(xdrs, &who->gid) ||
      !xdr_uint32_t(xdrs, &count) || count > 100)
    return FALSE;
  who->groups.resize(count);
  for (std::uint32_t& group : who->groups)
    if (!xdr_uint32_t(xdrs, &group)) return FALSE;
  return TRUE;
}

class TirpcTest : public testing::Test {
 protected:
  TirpcClient connect(std::uint32_t program, std::uint32_t version) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(server_.port());
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int socket = RPC_ANYSOCK;
    return TirpcClient(clnttcp_create(&address, program, version, &socket, 0, 0));
  }
  template <class Args, class Results>
  static clnt_stat call(CLIENT* client, std::uint32_t procedure, bool_t (*encode)(XDR*, Args*), Args* args,
                        bool_t (*decode)(XDR*, Results*), Results* results) {
    return clnt_call(client, procedure, reinterpret_cast<xdrproc_t>(encode), reinterpret_cast<caddr_t>(args),
                     reinterpret_cast<xdrproc_t>(decode), reinterpret_cast<caddr_t>(results), patience);
  }
  static clnt_stat call_void(CLIENT* client, std::uint32_t procedure) {
    void* none = nullptr;
    return call(client, procedure, xdr_nothing, none, xdr_nothing, none);
  }
  static rpc_err error_of(CLIENT* client) {
    rpc_err error{};
    clnt_geterr(client, &error);
    return error;
  }

  test::OracleServer server_;
  const std::uint32_t program_ = test::OracleServer::program;
};

TEST_F(TirpcTest, null_answers_to_every_version) {
  for (const std::uint32_t version : {2U, 4U}) {
    const TirpcClient client = connect(program_, version);
    ASSERT_TRUE(client);
    EXPECT_EQ(call_void(client.get(), 0), RPC_SUCCESS);
  }
}

TEST_F(TirpcTest, data_of_all_sizes_comes_back) {
  const TirpcClient client = connect(program_, 2);
  ASSERT_TRUE(client);
  // libtirpc cuts long records into fragments of its buffer's size.
  for (const std::size_t size : {0U, 1U, 3U, 4U, 5U, 8000U, 9000U, 100'000U, 1'000'000U}) {
    Opaque sent;
    for (std::size_t i = 0; i < size; ++i) sent.bytes.push_back(static_cast<char>(i * 13));
    Opaque received;
    ASSERT_EQ(call(client.get(), 1, xdr_opaque_of, &sent, xdr_opaque_of, &received), RPC_SUCCESS) << size;
    EXPECT_EQ(received.bytes, sent.bytes);
  }
}

TEST_F(TirpcTest, the_credential_arrives) {
  const TirpcClient client = connect(program_, 2);
  ASSERT_TRUE(client);
  std::array<gid_t, 16> groups{};
  for (std::size_t i = 0; i < groups.size(); ++i) groups[i] = static_cast<gid_t>(100 + i);
  std::string host = "oracle.example";
  const TirpcAuth auth(authunix_create(host.data(), 1000, 50, 16, groups.data()));
  AUTH* none = client->cl_auth;
  client->cl_auth = auth.get();
  Who who;
  ASSERT_EQ(call(client.get(), 8, xdr_nothing, static_cast<void*>(nullptr), xdr_who, &who), RPC_SUCCESS);
  EXPECT_EQ(who.flavor, 1U);
  EXPECT_EQ(who.uid, 1000U);
  EXPECT_EQ(who.gid, 50U);
  EXPECT_EQ(who.groups.size(), 16U);
  EXPECT_EQ(who.groups.back(), 115U);
  client->cl_auth = none;
  ASSERT_EQ(call(client.get(), 8, xdr_nothing, static_cast<void*>(nullptr), xdr_who, &who), RPC_SUCCESS);
  EXPECT_EQ(who.flavor, 0U);
}

TEST_F(TirpcTest, mismatches_name_the_versions) {
  const TirpcClient wrong_version = connect(program_, 3);
  ASSERT_TRUE(wrong_version);
  EXPECT_EQ(call_void(wrong_version.get(), 0), RPC_PROGVERSMISMATCH);
  EXPECT_EQ(error_of(wrong_version.get()).re_vers.low, 2U);
  EXPECT_EQ(error_of(wrong_version.get()).re_vers.high, 4U);
  const TirpcClient wrong_program = connect(program_ + 1, 2);
  ASSERT_TRUE(wrong_program);
  EXPECT_EQ(call_void(wrong_program.get(), 0), RPC_PROGUNAVAIL);
}

TEST_F(TirpcTest, every_accept_status_is_understood) {
  const TirpcClient client = connect(program_, 2);
  ASSERT_TRUE(client);
  EXPECT_EQ(call_void(client.get(), 3), RPC_PROCUNAVAIL);
  EXPECT_EQ(call_void(client.get(), 1), RPC_CANTDECODEARGS);  // GARBAGE_ARGS
  EXPECT_EQ(call_void(client.get(), 6), RPC_SYSTEMERROR);
  EXPECT_EQ(call_void(client.get(), 0), RPC_SUCCESS);
}

// Messages that libtirpc's client would not send, encoded and decoded by its XDR.
TEST_F(TirpcTest, every_reject_status_is_understood) {
  const struct {
    std::uint32_t rpcvers;
    enum_t flavor;
    std::vector<char> body;
    reject_stat stat;
    auth_stat why;
  } cases[] = {
      {1, 0, {}, RPC_MISMATCH, AUTH_OK},
      {3, 0, {}, RPC_MISMATCH, AUTH_OK},
      {2, AUTH_SYS, {1, 2, 3, 4}, AUTH_ERROR, AUTH_BADCRED},
      {2, AUTH_SHORT, {1, 2, 3, 4}, AUTH_ERROR, AUTH_REJECTEDCRED},
      {2, AUTH_DH, {}, AUTH_ERROR, AUTH_REJECTEDCRED},
      {2, 390'004, {}, AUTH_ERROR, AUTH_REJECTEDCRED},
  };
  for (const auto& one : cases) {
    std::vector<char> body = one.body;
    rpc_msg call{};
    call.rm_xid = 77;
    call.rm_direction = CALL;
    call.rm_call.cb_rpcvers = one.rpcvers;
    call.rm_call.cb_prog = program_;
    call.rm_call.cb_vers = 2;
    call.rm_call.cb_proc = 0;
    call.rm_call.cb_cred = {one.flavor, body.data(), static_cast<unsigned>(body.size())};
    call.rm_call.cb_verf = {AUTH_NONE, nullptr, 0};
    std::vector<char> bytes(1000);
    XDR out{};
    xdrmem_create(&out, bytes.data(), static_cast<unsigned>(bytes.size()), XDR_ENCODE);
    ASSERT_TRUE(xdr_u_int32_t(&out, &call.rm_xid));
    // xdr_callmsg() refuses to encode a wrong RPC version, so the parts go one by one.
    for (std::uint32_t word : {0U, one.rpcvers, program_, 2U, 0U}) ASSERT_TRUE(xdr_u_int32_t(&out, &word));
    ASSERT_TRUE(xdr_opaque_auth(&out, &call.rm_call.cb_cred));
    ASSERT_TRUE(xdr_opaque_auth(&out, &call.rm_call.cb_verf));
    bytes.resize(xdr_getpos(&out));
    std::vector<char> answer = server_.exchange(bytes);
    ASSERT_FALSE(answer.empty());
    rpc_msg reply{};
    reply.acpted_rply.ar_results.proc = reinterpret_cast<xdrproc_t>(xdr_nothing);
    XDR in{};
    xdrmem_create(&in, answer.data(), static_cast<unsigned>(answer.size()), XDR_DECODE);
    ASSERT_TRUE(xdr_replymsg(&in, &reply));
    EXPECT_EQ(reply.rm_xid, 77U);
    ASSERT_EQ(reply.rm_reply.rp_stat, MSG_DENIED);
    EXPECT_EQ(reply.rjcted_rply.rj_stat, one.stat);
    if (one.stat == RPC_MISMATCH) {
      EXPECT_EQ(reply.rjcted_rply.rj_vers.low, 2U);
      EXPECT_EQ(reply.rjcted_rply.rj_vers.high, 2U);
    } else {
      EXPECT_EQ(reply.rjcted_rply.rj_why, one.why);
    }
  }
}

}  // namespace
}  // namespace braid::rpc
