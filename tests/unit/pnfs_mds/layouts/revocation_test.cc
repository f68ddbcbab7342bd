// Layouts that are taken back by force: the client is shut out at the data servers before anybody gets what
// it had.
#include "tests/unit/pnfs_mds/layouts/recall_fixture.h"

namespace braid::pnfs_mds::layouts::test {
namespace {

class RevocationTest : public RecallTest {
 protected:
  // A lease passes, in which this client says something.
  void pass_lease(SessionClient& alive) {
    for (int i = 0; i < 10; ++i) {
      world_->advance(10s);
      renew(alive);
      renew(*bob_);
    }
    world_->tick();
  }
};

TEST_F(RevocationTest, what_is_not_returned_in_a_lease_is_taken_back) {
  const stateid4 id = open(*alice_, "file", OPEN4_SHARE_ACCESS_BOTH);
  const auto granted = layoutget(*alice_, "file", layoutget_args(id));
  ASSERT_TRUE(granted);
  fill(*granted);
  EXPECT_EQ(ended(start_truncation(*bob_, "file", 4)), NFS4ERR_DELAY);
  world_->tick();
  EXPECT_EQ(layouts(), 1U) << "it has time";
  pass_lease(*alice_);
  EXPECT_EQ(layoutcommit(*alice_, "file", granted->id), NFS4ERR_BAD_STATEID);
  const std::array ids{granted->id};
  Reply tested = alice_->send(alice_->request().add(OP_TEST_STATEID, TEST_STATEID4args{ids}));
  EXPECT_EQ(tested.status_of(OP_TEST_STATEID), NFS4_OK);
  await_bars();
  EXPECT_EQ(ended(start_truncation(*bob_, "file", 4)), NFS4_OK);
  EXPECT_EQ(size_of("file"), 4U);
  for (std::uint32_t server = 1; server <= servers; ++server) {
    ASSERT_EQ(bars(server).size(), 1U);
    EXPECT_EQ(bars(server)[0].client, handle_of(*granted).client);
    EXPECT_GE(bars(server)[0].last, handle_of(*granted).grant);
  }
  EXPECT_TRUE(counted(R"(braid_pnfs_layouts_ended_total{how="revoked"} 1)"));
  Reply reply = world_->send(alice_->request(), alice_->caller());
  EXPECT_EQ(reply.result<SEQUENCE4res>(OP_SEQUENCE).sr_resok4()->sr_status_flags &
                SEQ4_STATUS_RECALLABLE_STATE_REVOKED,
            0U)
      << "Linux would drop all its layouts, again and again";
  const auto after = layoutget(*alice_, "file", layoutget_args(id));
  ASSERT_TRUE(after) << "it begins anew";
  EXPECT_GT(handle_of(*after).grant, bars(1)[0].last);
}

TEST_F(RevocationTest, a_revoked_stateid_can_be_freed) {
  const Granted granted = written_by(*alice_, "file");
  fill(granted);
  EXPECT_EQ(ended(start_truncation(*bob_, "file", 4)), NFS4ERR_DELAY);
  pass_lease(*alice_);
  EXPECT_EQ(layouts(), 1U);
  const stateid4 id{.seqid = 0, .other = granted.id.other};
  EXPECT_EQ(alice_->send(alice_->request().add(OP_FREE_STATEID, FREE_STATEID4args{id})).status(), NFS4_OK);
  EXPECT_EQ(layouts(), 0U);
  world_->tick();
  await_bars();
}

TEST_F(RevocationTest, a_truncation_waits_for_a_server_that_may_serve_the_client) {
  const Granted granted = written_by(*alice_, "file");
  fill(granted);
  const pnfs::ServerNumber silent(2);
  objects_.set_silent(silent, true);
  world_->on_engine(
      [&](Nfs4Engine& engine) -> io::Op<> { (void)co_await engine.revoke(alice_->id()).as_result(); });
  CallbackWorld::until([&] { return bars(1).size() == 1 && bars(3).size() == 1; });
  EXPECT_EQ(ended(start_truncation(*bob_, "file", 4)), NFS4ERR_DELAY);
  EXPECT_EQ(cluster_->pending_fences().count(), 1U);
  objects_.set_silent(silent, false);
  EXPECT_EQ(ended(start_truncation(*bob_, "file", 4)), NFS4_OK) << "it is asked again and again";
  EXPECT_EQ(bars(2).size(), 1U);
  EXPECT_EQ(cluster_->pending_fences().count(), 0U);
}

TEST_F(RevocationTest, a_server_that_has_barred_itself_holds_nobody_up) {
  const stateid4 id = open(*alice_, "file", OPEN4_SHARE_ACCESS_BOTH);
  EXPECT_TRUE(layoutget(*alice_, "file", layoutget_args(id, reads)));
  objects_.set_silent(pnfs::ServerNumber(2), true);
  world_->on_engine(
      [&](Nfs4Engine& engine) -> io::Op<> { (void)co_await engine.evict(alice_->id()).as_result(); });
  const auto open_alone = [&] { return ended(start_denying(OPEN4_SHARE_DENY_READ)); };
  EXPECT_EQ(open_alone(), NFS4ERR_DELAY) << "the client is gone, but not from there";
  clock_.advance(51s);
  while (open_alone() == NFS4ERR_DELAY) world_->advance(10ms);
  EXPECT_EQ(cluster_->pending_fences().count(), 1U) << "it is told before it comes back";
}

TEST_F(RevocationTest, a_client_that_is_gone_is_shut_out) {
  const Granted granted = written_by(*alice_, "file");
  (void)written_by(*alice_, "other");
  fill(granted);
  world_->on_engine(
      [&](Nfs4Engine& engine) -> io::Op<> { (void)co_await engine.evict(alice_->id()).as_result(); });
  EXPECT_EQ(layouts(), 0U);
  await_bars();
  EXPECT_TRUE(counted("braid_pnfs_client_bars_total 1")) << "one for both files";
  EXPECT_EQ(bars(1)[0].client, handle_of(granted).client);
  EXPECT_EQ(ended(start_truncation(*bob_, "file", 4)), NFS4_OK);
}

TEST_F(RevocationTest, a_client_whose_lease_is_over_is_not_waited_for) {
  fill(written_by(*alice_, "file"));
  for (int i = 0; i < 10; ++i) {
    world_->advance(10s);
    renew(*bob_);
  }
  alice_peer_->silent = true;
  EXPECT_EQ(ended(start_truncation(*bob_, "file", 4)), NFS4_OK);
  EXPECT_EQ(bars(1).size(), 1U);
  EXPECT_EQ(layouts(), 0U);
}

TEST_F(RevocationTest, a_client_that_begins_anew_has_lost_its_handles) {
  fill(written_by(*alice_, "file"));
  SessionClient again(*world_, 2U, "alice", Caller{.connection = alice_peer_->connection(), .boot = 1});
  world_->tick();
  await_bars();
  const auto granted = layoutget(again, "file", layoutget_args(open(again, "file", OPEN4_SHARE_ACCESS_BOTH)));
  ASSERT_TRUE(granted);
  EXPECT_GT(handle_of(*granted).grant, bars(1)[0].last);
}

TEST_F(RevocationTest, the_size_is_asked_for_as_long_as_the_client_may_write) {
  const Granted granted = written_by(*alice_, "file");
  objects_.set_silent(pnfs::ServerNumber(2), true);
  world_->on_engine(
      [&](Nfs4Engine& engine) -> io::Op<> { (void)co_await engine.evict(alice_->id()).as_result(); });
  objects_.set_silent(pnfs::ServerNumber(2), false);
  fill(granted);
  EXPECT_EQ(size_of(*bob_, "file"), 10U);
}

// --- What a run before has granted.

class EarlierGrants : public RecallTest {
 protected:
  EarlierGrants() : RecallTest(5) {}
  nfsstat4 open_alone() { return ended(start_denying(OPEN4_SHARE_DENY_WRITE)); }
  // The lowest grant that the server was told.
  std::uint64_t lowest_at(std::uint32_t server) {
    std::uint64_t lowest = 0;
    for (const Fence& fence : objects_.fences(pnfs::ServerNumber(server)))
      if (const auto* const one = std::get_if<LowestFence>(&fence)) lowest = one->lowest.value();
    return lowest;
  }
};

TEST_F(EarlierGrants, end_before_anything_is_granted_that_they_are_in_the_way_of) {
  const stateid4 id = open(*bob_, "file", OPEN4_SHARE_ACCESS_BOTH);
  EXPECT_EQ(close(*bob_, "file", id), NFS4_OK);
  EXPECT_TRUE(layouts_->earlier_live());
  EXPECT_EQ(open_alone(), NFS4ERR_DELAY);
  objects_.set_silent(pnfs::ServerNumber(2), true);
  const auto end_earlier = [&] {
    layouts_->recalls().end_earlier();
    for (int i = 0; i < 30; ++i) world_->advance(1ms);
  };
  end_earlier();
  EXPECT_EQ(open_alone(), NFS4ERR_DELAY) << "one server may take what was granted then";
  EXPECT_GT(lowest_at(1), 5U);
  objects_.set_silent(pnfs::ServerNumber(2), false);
  end_earlier();
  CallbackWorld::until([&] { return !layouts_->earlier_live(); });
  EXPECT_GT(lowest_at(2), 5U);
  EXPECT_EQ(open_alone(), NFS4_OK);
}

TEST_F(EarlierGrants, a_server_that_says_nothing_has_barred_itself_in_the_end) {
  objects_.set_silent(pnfs::ServerNumber(2), true);
  clock_.advance(51s);
  layouts_->recalls().end_earlier();
  CallbackWorld::until([&] { return !layouts_->earlier_live(); });
  EXPECT_EQ(objects_.calls("fence"), 0U) << "all of them have";
}

TEST_F(RecallTest, without_earlier_grants_there_is_nothing_to_end) { EXPECT_FALSE(layouts_->earlier_live()); }

}  // namespace
}  // namespace braid::pnfs_mds::layouts::test
