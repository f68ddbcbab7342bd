// What the tests of 4.2 operations share: a client, and files of its server.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "tests/unit/nfs4/support/world.h"

namespace braid::nfs4::test {

class Extended : public ::testing::Test {
 protected:
  // A request that has `names` as its current filehandle.
  Request at(std::initializer_list<std::string_view> names) {
    Request request = client_.request();
    return to(request, names);
  }
  static Request& to(Request& request, std::initializer_list<std::string_view> names) {
    request.add(nfs_opnum4::OP_PUTROOTFH);
    for (const std::string_view name : names) request.add(nfs_opnum4::OP_LOOKUP, LOOKUP4args{name});
    return request;
  }
  // With `from` as the saved filehandle.
  Request between(std::string_view from, std::string_view onto) {
    Request request = at({from});
    request.add(nfs_opnum4::OP_SAVEFH);
    return to(request, {onto});
  }
  nfsstat4 status(const Request& request) { return client_.send(request).status(); }
  // The reply behind the results of at({file}), or of between(); all of them OK.
  Reply behind_at(const Request& request) {
    Reply reply = client_.send(request);
    skip(reply);
    return reply;
  }
  Reply behind_between(const Request& request) {
    Reply reply = client_.send(request);
    skip(reply);
    EXPECT_EQ(reply.status_of(nfs_opnum4::OP_SAVEFH), nfsstat4::NFS4_OK);
    skip(reply);
    return reply;
  }

  World world_;
  SessionClient client_{world_, 2, "client"};

 private:
  static void skip(Reply& reply) {
    EXPECT_EQ(reply.status_of(nfs_opnum4::OP_PUTROOTFH), nfsstat4::NFS4_OK);
    EXPECT_EQ(reply.status_of(nfs_opnum4::OP_LOOKUP), nfsstat4::NFS4_OK);
  }
};

}  // namespace braid::nfs4::test
