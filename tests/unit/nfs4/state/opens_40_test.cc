// Opens and locks of 4.0 clients: owners count, and what is repeated is answered again.
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <utility>

#include "nfs4/state/state_id.h"
#include "opens_compound_fixture.h"

namespace braid::nfs4::test {
namespace {

class OpenCompound40 : public OpenCompound {
 protected:
  void SetUp() override {
    world_.write_local("file", "content");
    introduce();
  }
  void introduce() { client_ = introduce_40(world_, "old client"); }
  OPEN4res open_40(std::uint32_t seqid, std::string_view name = "file", std::uint32_t access = both_access) {
    OPEN4args args = open_args(name, access);
    args.seqid = seqid;
    args.owner.clientid = client_;
    Reply reply = world_.send(Request(0).add(OP_PUTROOTFH).add(OP_OPEN, args).add(OP_GETFH));
    EXPECT_EQ(reply.status_of(OP_PUTROOTFH), NFS4_OK);
    const auto result = reply.result<OPEN4res>(OP_OPEN);
    if (result.status == NFS4_OK)
      handle_ = std::string(base::text_of(reply.result<GETFH4res>(OP_GETFH).resok4()->object));
    kept_ = std::move(reply);
    return result;
  }
  template <class Args>
  Reply on_file_40(nfs_opnum4 op, const Args& args) {
    Reply reply = world_.send(Request(0).add(OP_PUTROOTFH).add(OP_LOOKUP, LOOKUP4args{"file"}).add(op, args));
    EXPECT_EQ(reply.status_of(OP_PUTROOTFH), NFS4_OK);
    EXPECT_EQ(reply.status_of(OP_LOOKUP), NFS4_OK);
    return reply;
  }
  stateid4 confirmed(std::uint32_t seqid, const stateid4& id) {
    Reply reply = on_file_40(OP_OPEN_CONFIRM, OPEN_CONFIRM4args{id, seqid});
    const auto result = reply.result<OPEN_CONFIRM4res>(OP_OPEN_CONFIRM);
    EXPECT_EQ(result.status, NFS4_OK);
    return result.resok4() == nullptr ? stateid4{} : result.resok4()->open_stateid;
  }

  clientid4 client_ = 0;
  std::string handle_;
};

// alice_ has sessions: to 4.0 requests her id is that of nobody.
TEST_F(OpenCompound40, the_id_of_a_client_with_sessions_is_unknown) {
  const stateid4 open_id = opened(alice_, open_args("file", both_access));
  ASSERT_EQ(lock(alice_, lock_args(open_id, "locker", nfs_lock_type4::WRITE_LT, 0, 10)), NFS4_OK);
  const auto answer = [&](nfs_opnum4 op, const auto& args) {
    return world_.send(Request(0).add(OP_PUTROOTFH).add(op, args)).status();
  };
  const lock_owner4 locker{alice_.id(), base::bytes_of("locker")};
  EXPECT_EQ(answer(OP_RELEASE_LOCKOWNER, RELEASE_LOCKOWNER4args{locker}), NFS4ERR_STALE_CLIENTID);
  EXPECT_EQ(answer(OP_RENEW, RENEW4args{alice_.id()}), NFS4ERR_STALE_CLIENTID);
  EXPECT_EQ(answer(OP_DELEGPURGE, DELEGPURGE4args{alice_.id()}), NFS4ERR_STALE_CLIENTID);
  client_ = alice_.id();
  EXPECT_EQ(open_40(1).status, NFS4ERR_STALE_CLIENTID);
  LOCKT4args test{.locktype = nfs_lock_type4::WRITE_LT, .offset = 0, .length = 10, .owner = locker};
  EXPECT_EQ(on_file_40(OP_LOCKT, test).status(), NFS4ERR_STALE_CLIENTID);
  EXPECT_EQ(world_.engine().state().states.with([](const auto& states) { return states.size(); }), 2U);
}

TEST_F(OpenCompound40, an_owner_opens_confirms_locks_unlocks_and_closes) {
  const OPEN4res first = open_40(1);
  ASSERT_NE(first.resok4(), nullptr);
  EXPECT_NE(first.resok4()->rflags & OPEN4_RESULT_CONFIRM, 0U);
  EXPECT_EQ(on_file_40(OP_READ, READ4args{first.resok4()->stateid, 0, 10}).status(), NFS4ERR_BAD_STATEID);
  const stateid4 id = confirmed(2, first.resok4()->stateid);
  EXPECT_EQ(on_file_40(OP_READ, READ4args{id, 0, 10}).status(), NFS4_OK);

  const LOCK4args args = first_lock_args(id, client_, 3, 70);
  Reply locked = on_file_40(OP_LOCK, args);
  const auto lock_result = locked.result<LOCK4res>(OP_LOCK);
  ASSERT_NE(lock_result.resok4(), nullptr);
  const stateid4 lock_id = lock_result.resok4()->lock_stateid;
  Reply again = on_file_40(OP_LOCK, args);
  EXPECT_EQ(again.result<LOCK4res>(OP_LOCK), lock_result) << "a repetition";

  const LOCKU4args unlock{nfs_lock_type4::WRITE_LT, 71, lock_id, 0, UINT64_MAX};
  EXPECT_EQ(on_file_40(OP_LOCKU, unlock).status(), NFS4_OK);
  EXPECT_EQ(on_file_40(OP_LOCKU, unlock).status(), NFS4_OK) << "a repetition";
  EXPECT_EQ(on_file_40(OP_LOCKU, LOCKU4args{nfs_lock_type4::WRITE_LT, 73, lock_id, 0, 1}).status(),
            NFS4ERR_BAD_SEQID);

  const CLOSE4args close{4, id};
  Reply closed = on_file_40(OP_CLOSE, close);
  const auto close_result = closed.result<CLOSE4res>(OP_CLOSE);
  ASSERT_EQ(close_result.status, NFS4_OK);
  EXPECT_EQ(close_result.open_stateid()->seqid, id.seqid + 1);
  EXPECT_EQ(on_file_40(OP_CLOSE, close).result<CLOSE4res>(OP_CLOSE), close_result) << "a repetition";
  EXPECT_EQ(on_file_40(OP_CLOSE, CLOSE4args{5, id}).status(), NFS4ERR_BAD_STATEID);
}

// In 4.0 any caller may bring any stateid.
TEST_F(OpenCompound40, whoever_uses_the_stateid_of_another_needs_rights_of_his_own) {
  const std::string path = world_.directory() + "/file";
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  const stateid4 id = confirmed(2, open_40(1).resok4()->stateid);
  const auto by = [&](std::uint32_t uid, nfs_opnum4 op) {
    Request request(0);
    request.add(OP_PUTFH, PUTFH4args{base::bytes_of(handle_)});
    if (op == OP_READ)
      request.add(OP_READ, READ4args{id, 0, 10});
    else
      request.add(OP_WRITE,
                  WRITE4args{.stateid = id, .offset = 0, .stable = stable_how4::UNSTABLE4, .data = {}});
    return world_.send(request, {.uid = uid, .gid = uid}).status();
  };
  EXPECT_EQ(by(0, OP_WRITE), NFS4_OK);
  EXPECT_EQ(by(1001, OP_READ), NFS4ERR_ACCESS);
  EXPECT_EQ(by(1001, OP_WRITE), NFS4ERR_ACCESS);
  ASSERT_EQ(::chmod(path.c_str(), 0604), 0);
  EXPECT_EQ(by(1001, OP_READ), NFS4_OK);
  EXPECT_EQ(by(1001, OP_WRITE), NFS4ERR_ACCESS);
  ASSERT_EQ(::chmod(path.c_str(), 0), 0);
  ASSERT_EQ(::chown(path.c_str(), 1001, 1001), 0);
  EXPECT_EQ(by(1001, OP_READ), NFS4_OK) << "the owner";
  EXPECT_EQ(by(1001, OP_WRITE), NFS4_OK);
  EXPECT_EQ(by(1002, OP_READ), NFS4ERR_ACCESS);
}

TEST_F(OpenCompound40, a_repeated_open_leads_to_the_same_file_with_the_same_answer) {
  const stateid4 id = confirmed(2, open_40(1).resok4()->stateid);
  const OPEN4res upgrade = open_40(3);
  const std::string handle = handle_;
  ASSERT_EQ(upgrade.resok4()->stateid.seqid, id.seqid + 1);
  handle_.clear();
  const OPEN4res again = open_40(3);
  ASSERT_NE(again.resok4(), nullptr);
  EXPECT_EQ(again.resok4()->stateid.seqid, id.seqid + 1);
  EXPECT_EQ(handle_, handle);
  EXPECT_EQ(open_40(3, "missing").status, NFS4_OK) << "its arguments do not matter";
  EXPECT_EQ(open_40(5).status, NFS4ERR_BAD_SEQID);
  EXPECT_EQ(open_40(4, "missing").status, NFS4ERR_NOENT);
  EXPECT_EQ(open_40(4).status, NFS4ERR_NOENT) << "a repetition";
}

// A 4.0 client does not say when it is done; the time says it.
TEST_F(OpenCompound40, after_the_grace_period_it_is_too_late_to_reclaim) {
  confirmed(2, open_40(1).resok4()->stateid);
  world_.restart();
  introduce();
  const auto reclaim = [&](std::string_view owner) {
    OPEN4args args = open_args("", both_access, 0, owner);
    args.claim = open_claim4::with_delegate_type(open_delegation_type4::OPEN_DELEGATE_NONE);
    args.owner.clientid = client_;
    args.seqid = 1;
    return on_file_40(OP_OPEN, args).status();
  };
  EXPECT_EQ(open_40(1).status, NFS4ERR_GRACE);
  EXPECT_EQ(reclaim("in time"), NFS4_OK);
  world_.advance(std::chrono::seconds(60));
  EXPECT_EQ(world_.send(Request(0).add(OP_RENEW, RENEW4args{client_})).status(), NFS4_OK);
  EXPECT_EQ(reclaim("still in time"), NFS4_OK);
  world_.advance(std::chrono::seconds(60));
  world_.tick();
  EXPECT_EQ(reclaim("late"), NFS4ERR_NO_GRACE);
  EXPECT_EQ(open_40(2).status, NFS4_OK);
}

TEST_F(OpenCompound40, what_only_later_versions_have_is_refused) {
  EXPECT_EQ(open_40(1, "file", read_access | OPEN4_SHARE_ACCESS_WANT_NO_DELEG).status, NFS4ERR_INVAL);
  EXPECT_EQ(on_file_40(OP_READ, READ4args{state::current_stateid(), 0, 10}).status(), NFS4ERR_BAD_STATEID);
}

TEST_F(OpenCompound40, whatever_is_neither_file_nor_directory_counts_as_a_link) {
  ASSERT_EQ(::mkfifo((world_.directory() + "/fifo").c_str(), 0666), 0);
  EXPECT_EQ(open_40(1, "fifo", read_access).status, NFS4ERR_SYMLINK);
}

}  // namespace
}  // namespace braid::nfs4::test
