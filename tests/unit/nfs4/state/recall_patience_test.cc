// How long requests wait for delegations that are in their way.
#include <chrono>
#include <cstddef>
#include <memory>
#include <string_view>

#include "delegations_compound_fixture.h"

namespace braid::nfs4::test {
namespace {

using namespace std::chrono_literals;

class RecallPatience : public DelegationCompound {
 protected:
  RecallPatience() : DelegationCompound(Delegations::write, patient()) {}
  static EngineOptions patient() {
    EngineOptions options;
    options.nfs.recall_patience = 30ms;
    return options;
  }
  // Milliseconds that passed until the reply was there.
  unsigned pass_time_until_ended(const std::shared_ptr<Sent>& sent) {
    unsigned passed = 0;
    for (; !world_.ended(sent); ++passed) world_.advance(1ms);
    return passed;
  }
};

TEST_F(RecallPatience, what_is_given_back_in_time_delays_nobody) {
  std::size_t recalls = 0;
  for (const Conflict& one : conflicts) {
    SCOPED_TRACE(one.name);
    const stateid4 id = delegate_anew();
    const auto sent = world_.start(one.request(bob_), bob_.caller());
    EXPECT_EQ(peer_.await(nfs_cb_opnum4::OP_CB_RECALL, ++recalls).id, id);
    EXPECT_FALSE(world_.ended(sent));
    EXPECT_EQ(give_back(alice_, id), NFS4_OK);
    pass_time_until_ended(sent);
    Reply done = world_.wait(sent);
    EXPECT_EQ(done.status(), NFS4_OK);
    if (std::string_view(one.name) != "OPEN") continue;
    EXPECT_EQ(done.result<SEQUENCE4res>(OP_SEQUENCE).sr_status, NFS4_OK);
    EXPECT_EQ(done.status_of(OP_PUTROOTFH), NFS4_OK);
    const OPEN4resok theirs = *done.result<OPEN4res>(OP_OPEN).resok4();
    EXPECT_EQ(on_file(bob_, OP_CLOSE, CLOSE4args{0, theirs.stateid}).status(), NFS4_OK);
  }
  EXPECT_EQ(world_.engine().metrics().of(OP_REMOVE).operations->value(), 1U) << "it is one operation";
}

TEST_F(RecallPatience, it_ends_with_the_whole_compound) {
  const stateid4 id = id_of(open_file(alice_, read_access).delegation);
  Request request = bob_.request();
  request.add(OP_PUTROOTFH).add(OP_OPEN, open_args(open_claim4::with_file("file"), write_access));
  const auto sent = world_.start(request, bob_.caller());
  EXPECT_EQ(peer_.await(nfs_cb_opnum4::OP_CB_RECALL).id, id);
  EXPECT_GE(pass_time_until_ended(sent), 30U);
  EXPECT_EQ(world_.wait(sent).status(), NFS4ERR_DELAY);
}

// RFC 7530 9.1.7: what comes again under the same sequence id is answered as before.
TEST_F(RecallPatience, an_open_of_4_0_is_told_at_once) {
  const Caller caller{.address = "192.0.2.3"};
  const clientid4 client = introduce_40(world_, "old client", caller);
  open_file(alice_, read_access);
  OPEN4args args = open_args(open_claim4::with_file("file"), write_access);
  args.owner.clientid = client;
  EXPECT_EQ(world_.send(Request(0).add(OP_PUTROOTFH).add(OP_OPEN, args), caller).status(), NFS4ERR_DELAY);
}

}  // namespace
}  // namespace braid::nfs4::test
