// Opens and locks as clients see them: whole COMPOUNDs over a real directory.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>

#include "base/unique_fd.h"
#include "nfs4/state/locks/locks.h"
#include "nfs4/state/state_id.h"
#include "opens_compound_fixture.h"
#include "tests/unit/nfs4/support/callback_world.h"

namespace braid::nfs4::test {
namespace {

TEST_F(OpenCompound, open_read_and_close) {
  world_.write_local("file", "content");
  const stateid4 id = opened(alice_, open_args("file", read_access));
  EXPECT_EQ(read(alice_, id), NFS4_OK);
  EXPECT_EQ(read(bob_, id), NFS4ERR_BAD_STATEID);
  Reply closed = on_file(alice_, "file", OP_CLOSE, CLOSE4args{0, id});
  EXPECT_EQ(*closed.result<CLOSE4res>(OP_CLOSE).open_stateid(), state::invalid_stateid());
  EXPECT_EQ(read(alice_, id), NFS4ERR_BAD_STATEID);
}

TEST_F(OpenCompound, the_current_stateid_after_open_is_the_new_one) {
  world_.write_local("file", "content");
  Request request = alice_.request();
  request.add(OP_PUTROOTFH)
      .add(OP_OPEN, open_args("file", read_access))
      .add(OP_READ, READ4args{current(), 0, 100})
      .add(OP_CLOSE, CLOSE4args{0, current()});
  Reply reply = alice_.send(request);
  EXPECT_EQ(reply.status(), NFS4_OK);
  EXPECT_EQ(reply.status_of(OP_PUTROOTFH), NFS4_OK);
  EXPECT_EQ(reply.result<OPEN4res>(OP_OPEN).status, NFS4_OK);
  EXPECT_EQ(reply.result<READ4res>(OP_READ).resok4()->data.size(), 7U);
}

TEST_F(OpenCompound, create_modes_do_what_they_say) {
  EXPECT_EQ(open(alice_, create_args("new", guarded())).status, NFS4_OK);
  EXPECT_EQ(open(alice_, create_args("new", guarded())).status, NFS4ERR_EXIST);
  EXPECT_EQ(open(alice_, create_args("new", unchecked(no_attributes()))).status, NFS4_OK);
  EXPECT_EQ(open(alice_, create_args("only", exclusive(1))).status, NFS4_OK);
  EXPECT_EQ(open(alice_, create_args("only", exclusive(1))).status, NFS4_OK) << "a repetition";
  EXPECT_EQ(open(alice_, create_args("only", exclusive(2))).status, NFS4ERR_EXIST);
  creatverfattr both;
  both.cva_verf[0] = std::byte{3};
  const auto newer = createhow4::with_ch_createboth(both);
  EXPECT_EQ(open(alice_, create_args("newer", newer)).status, NFS4_OK);
  EXPECT_EQ(open(alice_, create_args("newer", newer)).status, NFS4_OK);
  EXPECT_EQ(open(alice_, open_args("none", read_access)).status, NFS4ERR_NOENT);
}

// Who is told to come back later would find the file that the first attempt has made.
TEST_F(OpenCompound, nothing_is_made_for_a_client_that_has_all_it_may) {
  EngineOptions options;
  options.states.states_per_client = 1;
  World world(options);
  SessionClient full(world, 2, "full");
  const auto open = [&](const OPEN4args& args) {
    Reply reply = full.send(full.request().add(OP_PUTROOTFH).add(OP_OPEN, args));
    EXPECT_EQ(reply.status_of(OP_PUTROOTFH), NFS4_OK);
    return reply.result<OPEN4res>(OP_OPEN).status;
  };
  EXPECT_EQ(open(create_args("first", guarded())), NFS4_OK);
  for (const createhow4& how : {guarded(), unchecked(no_attributes()), exclusive(1)}) {
    EXPECT_EQ(open(create_args("second", how)), NFS4ERR_DELAY);
    EXPECT_FALSE(std::filesystem::exists(world.directory() + "/second"));
  }
  EXPECT_EQ(open(create_args("first", unchecked(no_attributes()))), NFS4_OK) << "open already";
}

TEST_F(OpenCompound, creating_says_how_the_directory_changed) {
  const OPEN4res result = open(alice_, create_args("new", guarded()));
  ASSERT_NE(result.resok4(), nullptr);
  EXPECT_TRUE(result.resok4()->cinfo.atomic_);
  EXPECT_NE(result.resok4()->cinfo.before, result.resok4()->cinfo.after);
}

TEST_F(OpenCompound, an_existing_file_is_emptied_only_if_nobody_denies_writing) {
  world_.write_local("file", "content");
  const stateid4 id = opened(bob_, open_args("file", read_access, OPEN4_SHARE_DENY_WRITE));
  EXPECT_EQ(open(alice_, create_args("file", unchecked(size_of(0)))).status, NFS4ERR_SHARE_DENIED);
  EXPECT_EQ(open(alice_, create_args("file", unchecked(size_of(0)), read_access)).status,
            NFS4ERR_SHARE_DENIED);
  EXPECT_EQ(world_.read_local("file"), "content");
  EXPECT_EQ(on_file(bob_, "file", OP_CLOSE, CLOSE4args{0, id}).status(), NFS4_OK);
  EXPECT_EQ(open(alice_, create_args("file", unchecked(size_of(0)))).status, NFS4_OK);
  EXPECT_EQ(world_.read_local("file"), "");
}

TEST_F(OpenCompound, only_regular_files_are_opened) {
  std::filesystem::create_directory(world_.directory() + "/directory");
  std::filesystem::create_symlink("file", world_.directory() + "/link");
  ASSERT_EQ(::mkfifo((world_.directory() + "/fifo").c_str(), 0600), 0);
  EXPECT_EQ(open(alice_, open_args("directory", read_access)).status, NFS4ERR_ISDIR);
  EXPECT_EQ(open(alice_, open_args("link", read_access)).status, NFS4ERR_SYMLINK);
  EXPECT_EQ(open(alice_, open_args("fifo", read_access)).status, NFS4ERR_WRONG_TYPE);
  EXPECT_EQ(open(alice_, create_args("directory", unchecked(no_attributes()))).status, NFS4ERR_ISDIR);
}

struct ShareCase {
  std::uint32_t access, deny;
  nfsstat4 expected;
};

TEST_F(OpenCompound, impossible_shares_are_refused) {
  world_.write_local("file", "");
  for (const ShareCase& one :
       {ShareCase{0, 0, NFS4ERR_INVAL}, ShareCase{1, 4, NFS4ERR_INVAL}, ShareCase{1 | 0x8, 0, NFS4ERR_INVAL},
        ShareCase{1 | 0x600, 0, NFS4ERR_INVAL}, ShareCase{1 | OPEN4_SHARE_ACCESS_WANT_NO_DELEG, 0, NFS4_OK}})
    EXPECT_EQ(open(alice_, open_args("file", one.access, one.deny)).status, one.expected)
        << one.access << " " << one.deny;
}

TEST_F(OpenCompound, who_says_what_delegation_it_wants_is_told_why_it_gets_none) {
  world_.write_local("file", "");
  const auto delegation = [&](std::uint32_t want) {
    const OPEN4res result = open(alice_, open_args("file", read_access | want));
    return result.resok4() == nullptr ? open_delegation4() : result.resok4()->delegation;
  };
  EXPECT_EQ(delegation(0).delegation_type, open_delegation_type4::OPEN_DELEGATE_NONE);
  EXPECT_EQ(delegation(OPEN4_SHARE_ACCESS_WANT_NO_DELEG).od_whynone()->ond_why,
            why_no_delegation4::WND4_NOT_WANTED);
  EXPECT_EQ(delegation(OPEN4_SHARE_ACCESS_WANT_CANCEL).od_whynone()->ond_why,
            why_no_delegation4::WND4_CANCELLED);
  EXPECT_EQ(delegation(OPEN4_SHARE_ACCESS_WANT_READ_DELEG).od_whynone()->ond_why,
            why_no_delegation4::WND4_RESOURCE);
}

TEST_F(OpenCompound, no_directory_is_delegated_to_who_cannot_be_called) {
  Reply reply =
      alice_.send(alice_.request().add(OP_PUTROOTFH).add(OP_GET_DIR_DELEGATION, GET_DIR_DELEGATION4args{}));
  EXPECT_EQ(reply.status_of(OP_PUTROOTFH), NFS4_OK);
  const auto result = reply.result<GET_DIR_DELEGATION4res>(OP_GET_DIR_DELEGATION);
  ASSERT_EQ(result.gddr_status, NFS4_OK);
  const auto& answer = *result.gddr_res_non_fatal4();
  EXPECT_EQ(answer.gddrnf_status, gddrnf4_status::GDD4_UNAVAIL);
  EXPECT_FALSE(*answer.gddrnf_will_signal_deleg_avail());
}

TEST_F(OpenCompound, there_is_nothing_to_purge) {
  EXPECT_EQ(alice_.send(alice_.request().add(OP_DELEGPURGE, DELEGPURGE4args{alice_.id()})).status(),
            NFS4ERR_NOTSUPP);
}

TEST_F(OpenCompound, an_open_by_handle_is_the_same_open) {
  world_.write_local("file", "content");
  const stateid4 first = opened(alice_, open_args("file", read_access));
  OPEN4args args = open_args("", write_access);
  args.claim = open_claim4::with_CLAIM_FH();
  Reply reply = on_file(alice_, "file", OP_OPEN, args);
  const OPEN4res result = reply.result<OPEN4res>(OP_OPEN);
  ASSERT_EQ(result.status, NFS4_OK);
  EXPECT_EQ(result.resok4()->stateid.other, first.other);
  EXPECT_EQ(result.resok4()->stateid.seqid, first.seqid + 1);
  EXPECT_EQ(read(alice_, first), NFS4ERR_OLD_STATEID);
}

TEST_F(OpenCompound, nothing_is_reclaimed_outside_the_grace_period) {
  world_.write_local("file", "");
  OPEN4args args = open_args("", read_access);
  args.claim = open_claim4::with_delegate_type(open_delegation_type4::OPEN_DELEGATE_NONE);
  EXPECT_EQ(on_file(alice_, "file", OP_OPEN, args).status(), NFS4ERR_NO_GRACE);
}

TEST_F(OpenCompound, an_open_file_stays_readable_after_its_mode_changes) {
  const Caller user{.uid = 1000, .gid = 1000, .address = "192.0.2.3"};
  SessionClient carol(world_, 2, "carol", user);
  world_.write_local("file", "content");
  const std::string path = world_.directory() + "/file";
  ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
  const stateid4 id = opened(carol, open_args("file", read_access));
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  EXPECT_EQ(read(carol, id), NFS4_OK);
  EXPECT_EQ(open(carol, open_args("file", read_access)).status, NFS4ERR_ACCESS);
}

TEST_F(OpenCompound, locks_conflict_between_clients_and_say_with_whom) {
  world_.write_local("file", "content");
  const stateid4 mine = opened(alice_, open_args("file", both_access));
  const stateid4 theirs = opened(bob_, open_args("file", both_access));
  EXPECT_EQ(lock(alice_, lock_args(mine, "a", nfs_lock_type4::WRITE_LT, 10, 10)), NFS4_OK);
  Reply reply =
      on_file(bob_, "file", OP_LOCK, lock_args(theirs, "b", nfs_lock_type4::READ_LT, 15, UINT64_MAX));
  const auto denied = reply.result<LOCK4res>(OP_LOCK);
  ASSERT_EQ(denied.status, NFS4ERR_DENIED);
  EXPECT_EQ(denied.denied()->offset, 10U);
  EXPECT_EQ(denied.denied()->length, 10U);
  EXPECT_EQ(base::text_of(denied.denied()->owner.owner), "a");
  // With her id he could send requests in her name.
  EXPECT_NE(denied.denied()->owner.clientid, alice_.id());
  EXPECT_NE(denied.denied()->owner.clientid, bob_.id());
  EXPECT_EQ(lock(bob_, lock_args(theirs, "b", nfs_lock_type4::READ_LT, 20, 5)), NFS4_OK);
  EXPECT_EQ(lock(bob_, lock_args(theirs, "b", nfs_lock_type4::READ_LT, 0, 0)), NFS4ERR_INVAL);
}

TEST_F(OpenCompound, a_lock_is_tested_taken_and_given_back) {
  world_.write_local("file", "content");
  const stateid4 mine = opened(alice_, open_args("file", both_access));
  Reply locked = on_file(alice_, "file", OP_LOCK, lock_args(mine, "a", nfs_lock_type4::WRITE_LT, 0, 10));
  const stateid4 id = locked.result<LOCK4res>(OP_LOCK).resok4()->lock_stateid;
  LOCKT4args test;
  test.locktype = nfs_lock_type4::WRITE_LT;
  test.offset = 5;
  test.length = 1;
  test.owner.owner = base::bytes_of("a");
  EXPECT_EQ(on_file(alice_, "file", OP_LOCKT, test).status(), NFS4_OK) << "one's own lock";
  EXPECT_EQ(on_file(bob_, "file", OP_LOCKT, test).status(), NFS4ERR_DENIED);
  EXPECT_EQ(
      on_file(alice_, "file", OP_LOCKU, LOCKU4args{nfs_lock_type4::WRITE_LT, 0, id, 0, UINT64_MAX}).status(),
      NFS4_OK);
  EXPECT_EQ(on_file(bob_, "file", OP_LOCKT, test).status(), NFS4_OK);
}

EngineOptions with_lease(base::Duration lease) {
  EngineOptions options;
  options.clients.lease = lease;
  return options;
}

class ShortLease : public OpenCompound {
 protected:
  ~ShortLease() override { kept_ = {}; }  // has memory of this world

  World quick_{with_lease(std::chrono::seconds(20))};
  SessionClient carol_{quick_, 2, "carol"};
  SessionClient dave_{quick_, 1, "dave", {.address = "192.0.2.2"}};
  SessionClient erin_{quick_, 1, "erin", {.address = "192.0.2.3"}};
};
TEST_F(ShortLease, who_waits_for_a_lock_has_its_place_for_a_lease_time) {
  quick_.write_local("file", "content");
  const stateid4 mine = opened(carol_, open_args("file", both_access));
  const stateid4 theirs = opened(dave_, open_args("file", both_access));
  const stateid4 third = opened(erin_, open_args("file", both_access));
  const LOCK4args late = lock_args(third, "late", nfs_lock_type4::WRITE_LT, 0, 10);
  const auto lock_by_late = [&](int tens_of_seconds) {
    Reply locked = on_file(carol_, "file", OP_LOCK, lock_args(mine, "a", nfs_lock_type4::WRITE_LT, 0, 10));
    const stateid4 id = locked.result<LOCK4res>(OP_LOCK).resok4()->lock_stateid;
    EXPECT_EQ(lock(dave_, lock_args(theirs, "b", nfs_lock_type4::WRITEW_LT, 0, 10)), NFS4ERR_DENIED);
    for (int i = 0; i < tens_of_seconds; ++i) {
      quick_.advance(std::chrono::seconds(10));
      for (SessionClient* client : {&carol_, &dave_, &erin_})
        EXPECT_EQ(quick_.send(client->request(), client->caller()).status(), NFS4_OK);
    }
    const LOCKU4args unlock{nfs_lock_type4::WRITE_LT, 0, id, 0, UINT64_MAX};
    EXPECT_EQ(on_file(carol_, "file", OP_LOCKU, unlock).status(), NFS4_OK);
    return lock(erin_, late);
  };
  EXPECT_EQ(lock_by_late(1), NFS4ERR_DENIED);
  EXPECT_EQ(lock_by_late(2), NFS4_OK);
}

TEST_F(OpenCompound, a_client_whose_lease_is_over_is_in_nobodys_way) {
  world_.write_local("file", "content");
  opened(alice_, open_args("file", both_access, OPEN4_SHARE_DENY_BOTH));
  EXPECT_EQ(open(bob_, open_args("file", read_access)).status, NFS4ERR_SHARE_DENIED);
  world_.advance(std::chrono::seconds(60));
  EXPECT_EQ(open(bob_, open_args("file", read_access)).status, NFS4ERR_SHARE_DENIED);
  world_.advance(std::chrono::seconds(60));
  EXPECT_EQ(open(bob_, open_args("file", read_access)).status, NFS4_OK);
}

TEST_F(OpenCompound, stateids_are_tested_and_freed) {
  world_.write_local("file", "content");
  const stateid4 id = opened(alice_, open_args("file", read_access));
  stateid4 strange = id;
  strange.other[5] ^= std::byte{1};
  const std::array ids{id, strange, state::anonymous_stateid()};
  TEST_STATEID4args args;
  args.ts_stateids = ids;
  Reply reply = alice_.send(alice_.request().add(OP_TEST_STATEID, args));
  const auto result = reply.result<TEST_STATEID4res>(OP_TEST_STATEID);
  ASSERT_NE(result.tsr_resok4(), nullptr);
  const std::array expected{NFS4_OK, NFS4ERR_BAD_STATEID, NFS4ERR_BAD_STATEID};
  EXPECT_TRUE(std::ranges::equal(result.tsr_resok4()->tsr_status_codes, expected));
  EXPECT_EQ(alice_.send(alice_.request().add(OP_FREE_STATEID, FREE_STATEID4args{id})).status(),
            NFS4ERR_LOCKS_HELD);
}

TEST_F(OpenCompound, an_open_is_reclaimed_after_a_restart_and_nothing_new_is_given_meanwhile) {
  world_.write_local("file", "content");
  opened(alice_, open_args("file", both_access, OPEN4_SHARE_DENY_WRITE));
  world_.restart();
  SessionClient again(world_, 2, "alice", {}, false);
  SessionClient bob(world_, 1, "bob", {.address = "192.0.2.2"}, false);
  EXPECT_EQ(open(bob, open_args("file", read_access)).status, NFS4ERR_GRACE);
  OPEN4args args = open_args("", both_access, OPEN4_SHARE_DENY_WRITE);
  args.claim = open_claim4::with_delegate_type(open_delegation_type4::OPEN_DELEGATE_NONE);
  Reply reply = on_file(again, "file", OP_OPEN, args);
  const auto result = reply.result<OPEN4res>(OP_OPEN);
  ASSERT_EQ(result.status, NFS4_OK);
  EXPECT_EQ(read(again, result.resok4()->stateid), NFS4_OK);
}

TEST_F(OpenCompound, the_last_opens_are_for_clients_that_have_few) {
  for (const char* name : {"one", "two", "file"}) {
    world_.write_local(name, "content");
    opened(alice_, open_args(name, both_access));
  }
  opened(bob_, open_args("one", read_access));
  world_.watched().be_short_of_opens();
  EXPECT_EQ(open(alice_, open_args("two", read_access, 0, "other")).status, NFS4ERR_DELAY);
  EXPECT_EQ(open(alice_, create_args("new", guarded())).status, NFS4ERR_DELAY);
  EXPECT_FALSE(std::filesystem::exists(world_.directory() + "/new"));
  EXPECT_EQ(open(bob_, open_args("two", read_access)).status, NFS4_OK);
  SessionClient carol(world_, 1, "carol", {.address = "192.0.2.3"});
  EXPECT_EQ(open(carol, create_args("new", guarded())).status, NFS4_OK);
}

TEST_F(OpenCompound, a_client_alone_leaves_some_for_others_but_reclaims_what_it_had) {
  OPEN4args reclaim = open_args("", both_access);
  reclaim.claim = open_claim4::with_delegate_type(open_delegation_type4::OPEN_DELEGATE_NONE);
  for (const char* name : {"one", "two", "file"}) {
    world_.write_local(name, "content");
    opened(alice_, open_args(name, both_access));
  }
  world_.watched().be_short_of_opens();
  EXPECT_EQ(open(alice_, open_args("one", read_access, 0, "other")).status, NFS4ERR_DELAY);
  world_.restart();
  SessionClient again(world_, 2, "alice", {}, false);
  for (const char* name : {"one", "two", "file"})
    EXPECT_EQ(on_file(again, name, OP_OPEN, reclaim).status(), NFS4_OK);
}

TEST_F(OpenCompound, the_last_locked_files_are_for_clients_that_have_few) {
  const auto try_lock = [&](SessionClient& client, const char* name) {
    const stateid4 id = opened(client, open_args(name, both_access));
    return on_file(client, name, OP_LOCK, lock_args(id, name, nfs_lock_type4::READ_LT, 0, 10)).status();
  };
  for (const char* name : {"one", "two", "file", "more"}) world_.write_local(name, "content");
  EXPECT_EQ(try_lock(alice_, "one"), NFS4_OK);
  EXPECT_EQ(try_lock(alice_, "two"), NFS4_OK);
  EXPECT_EQ(try_lock(bob_, "one"), NFS4_OK);
  world_.watched().be_short_of_locks();
  EXPECT_EQ(try_lock(alice_, "more"), NFS4ERR_DELAY);
  EXPECT_EQ(open(alice_, open_args("more", read_access, 0, "other")).status, NFS4_OK)
      << "opens are no matter";
  EXPECT_EQ(try_lock(bob_, "more"), NFS4_OK);
}

TEST_F(OpenCompound, what_a_local_process_has_locked_is_denied) {
  world_.write_local("file", "content");
  const LocalLocker local(world_.directory() + "/file");
  ASSERT_TRUE(local.lock(F_WRLCK, 10, 10));
  const stateid4 mine = opened(alice_, open_args("file", both_access));
  const LOCK4args args = lock_args(mine, "a", nfs_lock_type4::READ_LT, 0, UINT64_MAX);
  Reply reply = on_file(alice_, "file", OP_LOCK, args);
  const auto denied = reply.result<LOCK4res>(OP_LOCK);
  ASSERT_EQ(denied.status, NFS4ERR_DENIED);
  EXPECT_EQ(denied.denied()->offset, 10U);
  EXPECT_EQ(denied.denied()->locktype, nfs_lock_type4::WRITE_LT);
  EXPECT_EQ(lock(alice_, lock_args(mine, "a", nfs_lock_type4::WRITE_LT, 0, 10)), NFS4_OK);
  ASSERT_TRUE(local.lock(F_UNLCK, 10, 10));
  EXPECT_EQ(lock(alice_, args), NFS4_OK);
}

TEST(LocalLocks, who_waits_for_a_local_process_is_called_back_when_it_is_gone) {
  CallbackWorld world;
  CallbackPeer peer(world);
  SessionClient client(world, 2, "alice", {.connection = peer.connection()});
  world.write_local("file", "content");
  std::optional<LocalLocker> local(world.directory() + "/file");
  ASSERT_TRUE(local->lock(F_WRLCK, 10, 10));
  Reply opened = client.send(
      client.request().add(OP_PUTROOTFH).add(OP_OPEN, open_args("file", both_access)).add(OP_GETFH));
  ASSERT_EQ(opened.status(), NFS4_OK);
  EXPECT_EQ(opened.status_of(OP_PUTROOTFH), NFS4_OK);
  const stateid4 id = opened.result<OPEN4res>(OP_OPEN).resok4()->stateid;
  const auto lock = [&](nfs_lock_type4 type) {
    const LOCK4args args = lock_args(id, "a", type, 0, UINT64_MAX);
    return client
        .send(client.request().add(OP_PUTROOTFH).add(OP_LOOKUP, LOOKUP4args{"file"}).add(OP_LOCK, args))
        .status();
  };
  EXPECT_EQ(lock(nfs_lock_type4::WRITEW_LT), NFS4ERR_DENIED);
  world.tick();
  EXPECT_TRUE(peer.calls().empty());
  local.reset();
  world.tick();
  peer.await(nfs_cb_opnum4::OP_CB_NOTIFY_LOCK);
  EXPECT_EQ(lock(nfs_lock_type4::WRITEW_LT), NFS4_OK);
}

TEST_F(OpenCompound, a_local_process_meets_locks_of_clients_until_they_are_given_back) {
  world_.write_local("file", "content");
  const LocalLocker local(world_.directory() + "/file");
  const stateid4 mine = opened(alice_, open_args("file", both_access));
  Reply locked = on_file(alice_, "file", OP_LOCK, lock_args(mine, "a", nfs_lock_type4::WRITE_LT, 0, 100));
  const stateid4 id = locked.result<LOCK4res>(OP_LOCK).resok4()->lock_stateid;
  EXPECT_FALSE(local.lock(F_RDLCK, 50, 1));
  const LOCKU4args middle{nfs_lock_type4::WRITE_LT, 0, id, 40, 20};
  EXPECT_EQ(on_file(alice_, "file", OP_LOCKU, middle).status(), NFS4_OK);
  EXPECT_TRUE(local.lock(F_WRLCK, 40, 20));
  EXPECT_FALSE(local.lock(F_RDLCK, 39, 1));
  EXPECT_EQ(on_file(alice_, "file", OP_CLOSE, CLOSE4args{0, mine}).status(), NFS4_OK);
  EXPECT_TRUE(local.lock(F_WRLCK, 0, 100));
}

TEST_F(OpenCompound, locks_of_a_client_that_went_silent_are_gone_for_local_processes_too) {
  world_.write_local("file", "content");
  const LocalLocker local(world_.directory() + "/file");
  const stateid4 mine = opened(alice_, open_args("file", both_access));
  EXPECT_EQ(lock(alice_, lock_args(mine, "a", nfs_lock_type4::WRITE_LT, 0, 100)), NFS4_OK);
  world_.advance(std::chrono::hours(48));
  world_.tick();
  world_.tick();
  EXPECT_TRUE(local.lock(F_WRLCK, 0, 100));
}

TEST_F(OpenCompound, a_client_that_crashed_is_not_in_its_own_way) {
  world_.write_local("file", "content");
  const auto held_locally = [&] {
    const base::UniqueFd file(::open((world_.directory() + "/file").c_str(), O_RDWR | O_CLOEXEC));
    struct flock lock{};
    lock.l_type = F_WRLCK;
    EXPECT_EQ(::fcntl(file.get(), F_OFD_GETLK, &lock), 0);
    return lock.l_type != F_UNLCK;
  };
  const stateid4 id = opened(alice_, open_args("file", both_access));
  EXPECT_EQ(lock(alice_, lock_args(id, "locker", nfs_lock_type4::WRITE_LT, 0, 10)), NFS4_OK);
  EXPECT_TRUE(held_locally());
  SessionClient again(world_, 2, "alice", {.boot = 1});
  EXPECT_FALSE(held_locally());
}

}  // namespace
}  // namespace braid::nfs4::test
