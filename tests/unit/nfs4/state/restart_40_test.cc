// Clients of 4.0 after an end of the server in order: they cannot say that they have reclaimed all they held,
// and it is known what that was.
#include <chrono>
#include <string>

#include "opens_compound_fixture.h"

namespace braid::nfs4::test {
namespace {

using namespace std::chrono_literals;

class Restart40 : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* const name : {"file", "other"}) world_.write_local(name, "content");
    introduce();
  }
  void introduce() { client_ = introduce_40(world_, "old client"); }
  template <class Args>
  Reply on(std::string_view name, nfs_opnum4 op, const Args& args) {
    Reply reply = world_.send(Request(0).add(OP_PUTROOTFH).add(OP_LOOKUP, LOOKUP4args{name}).add(op, args));
    EXPECT_EQ(reply.status_of(OP_PUTROOTFH), NFS4_OK);
    EXPECT_EQ(reply.status_of(OP_LOOKUP), NFS4_OK);
    return reply;
  }
  OPEN4args open_as(std::string_view name, std::string_view owner, clientid4 client, std::uint32_t seqid) {
    OPEN4args args = open_args(name, both_access, 0, owner);
    args.owner.clientid = client;
    args.seqid = seqid;
    return args;
  }
  stateid4 opened(std::string_view name, std::string_view owner) {
    Reply reply = world_.send(Request(0).add(OP_PUTROOTFH).add(OP_OPEN, open_as(name, owner, client_, 1)));
    EXPECT_EQ(reply.status_of(OP_PUTROOTFH), NFS4_OK);
    EXPECT_EQ(reply.status(), NFS4_OK);
    const stateid4 id = reply.result<OPEN4res>(OP_OPEN).resok4()->stateid;
    Reply confirmed = on(name, OP_OPEN_CONFIRM, OPEN_CONFIRM4args{id, 2});
    EXPECT_EQ(confirmed.status(), NFS4_OK);
    return confirmed.result<OPEN_CONFIRM4res>(OP_OPEN_CONFIRM).resok4()->open_stateid;
  }
  stateid4 reclaimed(std::string_view name, std::string_view owner) {
    OPEN4args args = open_as("", owner, client_, 1);
    args.claim = open_claim4::with_delegate_type(open_delegation_type4::OPEN_DELEGATE_NONE);
    Reply reply = on(name, OP_OPEN, args);
    EXPECT_EQ(reply.status(), NFS4_OK);
    return reply.status() == NFS4_OK ? reply.result<OPEN4res>(OP_OPEN).resok4()->stateid : stateid4{};
  }
  nfsstat4 lock(const stateid4& open, std::uint32_t open_seqid, bool reclaim) {
    LOCK4args args = first_lock_args(open, client_, open_seqid, 1);
    args.reclaim = reclaim;
    return on("file", OP_LOCK, args).status();
  }
  // Somebody wants a file open that was not.
  nfsstat4 open_anew() {
    const std::string owner = "owner " + std::to_string(++owners_);
    return world_.send(Request(0).add(OP_PUTROOTFH).add(OP_OPEN, open_as("other", owner, another_, 1)))
        .status();
  }
  void pass(base::Duration time) {
    world_.advance(time);
    world_.tick();
  }
  void come_back() {
    introduce();
    another_ = introduce_40(world_, "another client");
  }

  World world_;
  clientid4 client_ = 0, another_ = 0;
  int owners_ = 0;
};

TEST_F(Restart40, grace_ends_when_a_client_holds_again_what_it_held) {
  opened("other", "first");
  ASSERT_EQ(lock(opened("file", "second"), 3, false), NFS4_OK);
  world_.restart_in_order();
  come_back();
  reclaimed("other", "first");
  pass(6s);
  EXPECT_EQ(open_anew(), NFS4ERR_GRACE) << "an open and a lock are missing";
  const stateid4 open = reclaimed("file", "second");
  pass(6s);
  EXPECT_EQ(open_anew(), NFS4ERR_GRACE) << "the lock is missing";
  ASSERT_EQ(lock(open, 2, true), NFS4_OK);
  pass(1s);
  EXPECT_EQ(open_anew(), NFS4ERR_GRACE) << "it has not paused";
  pass(5s);
  EXPECT_EQ(open_anew(), NFS4_OK);
}

TEST_F(Restart40, what_comes_back_otherwise_is_waited_for) {
  opened("file", "owner");
  world_.restart_in_order();
  come_back();
  reclaimed("file", "another owner");
  pass(60s);
  EXPECT_EQ(open_anew(), NFS4ERR_GRACE);
}

TEST_F(Restart40, after_a_crash_nobody_knows_what_clients_held) {
  opened("file", "owner");
  world_.restart();
  come_back();
  reclaimed("file", "owner");
  pass(60s);
  EXPECT_EQ(open_anew(), NFS4ERR_GRACE);
}

// What a client held at the first end may be more than what it has reclaimed until the second one.
TEST_F(Restart40, an_end_in_the_grace_period_says_nothing_of_who_reclaims) {
  opened("file", "owner");
  opened("other", "owner of more");
  world_.restart_in_order();
  introduce();
  reclaimed("file", "owner");
  world_.restart_in_order();
  come_back();
  reclaimed("file", "owner");
  pass(60s);
  EXPECT_EQ(open_anew(), NFS4ERR_GRACE);
  reclaimed("other", "owner of more");
}

TEST_F(Restart40, who_holds_nothing_at_the_end_is_not_waited_for) {
  const stateid4 id = opened("file", "owner");
  ASSERT_EQ(on("file", OP_CLOSE, CLOSE4args{3, id}).status(), NFS4_OK);
  world_.restart_in_order();
  another_ = introduce_40(world_, "another client");
  EXPECT_EQ(open_anew(), NFS4ERR_GRACE);
  world_.tick();
  EXPECT_EQ(open_anew(), NFS4_OK);
}

}  // namespace
}  // namespace braid::nfs4::test
