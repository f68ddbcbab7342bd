// Delegations after a restart of the server.
#include <fcntl.h>
#include <sys/stat.h>

#include <ctime>
#include <string>

#include "delegations_compound_fixture.h"

namespace braid::nfs4::test {
namespace {

// The store's note of when files were last watched.
class ReclaimedDelegation : public DelegationCompound {
 protected:
  void watched_until(std::time_t when) {
    const std::string note = world_.state_directory() + "/nfs4/lock";
    const timespec times[2] = {{when, 0}, {when, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, note.c_str(), times, 0), 0);
  }
  static OPEN4args reclaim() {
    return open_args(open_claim4::with_delegate_type(OPEN_DELEGATE_READ), read_access);
  }
};

TEST_F(ReclaimedDelegation, a_file_that_changed_while_nobody_watched_is_not_reclaimed_with_a_delegation) {
  open_file(alice_, read_access);
  watched_until(::time(nullptr) - 10);
  world_.restart();
  SessionClient again(world_, 2, "alice", {}, false);
  open(again, reclaim(), NFS4ERR_RECLAIM_BAD);
  open(again, open_args(open_claim4::with_delegate_type(OPEN_DELEGATE_NONE), read_access));
  EXPECT_TRUE(opens_locally(O_WRONLY)) << "there is no lease";
}

TEST_F(ReclaimedDelegation, files_are_watched_as_long_as_there_are_delegations_and_nobody_minds) {
  const auto noted = [&] {
    struct stat stat{};
    EXPECT_EQ(::stat((world_.state_directory() + "/nfs4/lock").c_str(), &stat), 0);
    return stat.st_mtim.tv_sec;
  };
  watched_until(1000);
  world_.tick();
  EXPECT_EQ(noted(), 1000) << "there is nothing to watch";
  open_file(alice_, read_access);
  world_.tick();
  EXPECT_GT(noted(), 1000);
  EXPECT_FALSE(opens_locally(O_WRONLY));
  peer_.await(nfs_cb_opnum4::OP_CB_RECALL);
  watched_until(1000);
  world_.tick();
  EXPECT_EQ(noted(), 1000) << "the holder may not know yet";
}

TEST_F(ReclaimedDelegation, one_is_reclaimed_after_a_restart) {
  open_file(alice_, read_access);
  watched_until(::time(nullptr) + 1000);
  world_.restart();
  CallbackPeer peer(world_);
  SessionClient again(world_, 2, "alice", {.connection = peer.connection()}, false);
  const OPEN4resok opened = open(again, reclaim());
  ASSERT_NE(reading(opened.delegation), nullptr);
  EXPECT_FALSE(reading(opened.delegation)->recall);
  EXPECT_FALSE(opens_locally(O_WRONLY));
  EXPECT_EQ(peer.await(nfs_cb_opnum4::OP_CB_RECALL).id, id_of(opened.delegation));
}

// Its recall is under way, so that what the file system tells of in another thread has no consequences, and
// nobody waits for it: sanitizers see what it meets.
TEST_F(ReclaimedDelegation, local_programs_may_open_its_file_while_the_server_ends) {
  open_file(alice_, read_access);
  const WRITE4args write{.stateid = {}, .stable = stable_how4::UNSTABLE4};
  EXPECT_EQ(on_file(bob_, OP_WRITE, write).status(), NFS4ERR_DELAY);
  EXPECT_FALSE(opens_locally(O_WRONLY));
}

TEST_F(ReclaimedDelegation, one_that_cannot_last_after_a_restart_is_given_to_be_returned) {
  open_file(alice_, read_access);
  watched_until(::time(nullptr) + 1000);
  world_.restart();
  SessionClient again(world_, 2, "alice", {}, false);
  const OPEN4resok opened = open(again, reclaim());
  ASSERT_NE(reading(opened.delegation), nullptr);
  EXPECT_TRUE(reading(opened.delegation)->recall) << "it cannot be called back";
  EXPECT_EQ(give_back(again, id_of(opened.delegation)), NFS4_OK);
}

TEST_F(ReclaimedDelegation, who_may_not_write_had_none_to_write) {
  const std::string path = world_.directory() + "/file";
  ASSERT_EQ(::chmod(world_.directory().c_str(), 0755), 0);
  ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
  SessionClient carol(world_, 2, "carol", {.uid = 1000, .gid = 1000, .connection = peer_.connection()});
  open_file(carol, read_access | OPEN4_SHARE_ACCESS_WANT_NO_DELEG);
  open_file(alice_, both_access | OPEN4_SHARE_ACCESS_WANT_NO_DELEG);
  world_.restart();
  CallbackPeer peer(world_);
  const OPEN4args claimed = open_args(open_claim4::with_delegate_type(OPEN_DELEGATE_WRITE),
                                      read_access | OPEN4_SHARE_ACCESS_WANT_DELEG_TIMESTAMPS);
  SessionClient stranger(world_, 2, "carol", {.uid = 1000, .gid = 1000, .connection = peer.connection()},
                         false);
  const auto refused = open(stranger, claimed).delegation;
  EXPECT_EQ(writing(refused), nullptr);
  EXPECT_EQ(reading(refused), nullptr);
  SessionClient again(world_, 2, "alice", {.connection = peer.connection()}, false);
  EXPECT_NE(writing(open(again, claimed).delegation), nullptr) << "root may write it";
}

}  // namespace
}  // namespace braid::nfs4::test
