// Opens and locks as clients see them: whole COMPOUNDs over a real directory.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <string>

#include "base/unique_fd.h"
#include "nfs4/state/state_id.h"
#include "tests/unit/nfs4/support/world.h"

namespace braid::nfs4::test {
namespace {

using enum nfs_opnum4;
using enum nfsstat4;

constexpr std::uint32_t read_access = OPEN4_SHARE_ACCESS_READ;
constexpr std::uint32_t write_access = OPEN4_SHARE_ACCESS_WRITE;
constexpr std::uint32_t both_access = OPEN4_SHARE_ACCESS_BOTH;

fattr4 size_of(std::uint64_t size) {
  static constexpr std::array<std::uint32_t, 1> mask{1U << FATTR4_SIZE};
  io::SlabCursor cursor(test_slabs());
  xdr::Encoder out(cursor);
  out.u64(size);
  return {.attrmask = mask, .attr_vals = out.finish().bytes};
}
fattr4 no_attributes() { return {}; }

OPEN4args open_args(std::string_view name, std::uint32_t access, std::uint32_t deny = 0,
                    std::string_view owner = "owner") {
  OPEN4args args;
  args.share_access = access;
  args.share_deny = deny;
  args.owner.owner = base::bytes_of(owner);
  args.openhow = openflag4::with_default(opentype4::OPEN4_NOCREATE);
  args.claim = open_claim4::with_file(name);
  return args;
}
OPEN4args create_args(std::string_view name, createhow4 how, std::uint32_t access = both_access) {
  OPEN4args args = open_args(name, access);
  args.openhow = openflag4::with_how(std::move(how));
  return args;
}
createhow4 unchecked(const fattr4& attributes) {
  return createhow4::with_createattrs(createmode4::UNCHECKED4, attributes);
}
createhow4 guarded() { return createhow4::with_createattrs(createmode4::GUARDED4, no_attributes()); }
createhow4 exclusive(std::uint8_t mark) {
  verifier4 verifier{};
  verifier[0] = static_cast<std::byte>(mark);
  return createhow4::with_createverf(verifier);
}
LOCK4args lock_args(const stateid4& open_id, std::string_view owner, nfs_lock_type4 type,
                    std::uint64_t offset, std::uint64_t length) {
  LOCK4args args;
  args.locktype = type;
  args.offset = offset;
  args.length = length;
  open_to_lock_owner4 locker;
  locker.open_stateid = open_id;
  locker.lock_owner.owner = base::bytes_of(owner);
  args.locker = locker4::with_open_owner(locker);
  return args;
}

class OpenCompound : public ::testing::Test {
 protected:
  // OPEN by name in the root; the result of OPEN, and the status.
  OPEN4res open(SessionClient& client, const OPEN4args& args) {
    Reply reply = client.send(client.request().add(OP_PUTROOTFH).add(OP_OPEN, args));
    EXPECT_EQ(reply.status_of(OP_PUTROOTFH), NFS4_OK);
    auto result = reply.result<OPEN4res>(OP_OPEN);
    kept_ = std::move(reply);
    return result;
  }
  stateid4 opened(SessionClient& client, const OPEN4args& args) {
    const OPEN4res result = open(client, args);
    EXPECT_EQ(result.status, NFS4_OK);
    return result.resok4() == nullptr ? stateid4{} : result.resok4()->stateid;
  }
  // An operation on a file in the root.
  template <class Args>
  Reply on_file(SessionClient& client, std::string_view name, nfs_opnum4 op, const Args& args) {
    Reply reply =
        client.send(client.request().add(OP_PUTROOTFH).add(OP_LOOKUP, LOOKUP4args{name}).add(op, args));
    EXPECT_EQ(reply.status_of(OP_PUTROOTFH), NFS4_OK);
    EXPECT_EQ(reply.status_of(OP_LOOKUP), NFS4_OK);
    return reply;
  }
  nfsstat4 lock(SessionClient& client, const LOCK4args& args) {
    return on_file(client, "file", OP_LOCK, args).status();
  }
  nfsstat4 read(SessionClient& client, const stateid4& id) {
    return on_file(client, "file", OP_READ, READ4args{id, 0, 10}).status();
  }

  World world_;
  SessionClient alice_{world_, 2, "alice"};
  SessionClient bob_{world_, 1, "bob", {.address = "192.0.2.2"}};
  Reply kept_;  // what results refer to
};

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

TEST_F(OpenCompound, directories_are_not_delegated) {
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
  EXPECT_EQ(denied.denied()->owner.clientid, alice_.id());
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

// A local process that locks bytes of the file, by an open of its own.
class LocalLocker {
 public:
  explicit LocalLocker(const std::string& path) : fd_(::open(path.c_str(), O_RDWR | O_CLOEXEC)) {}
  [[nodiscard]] bool lock(short type, off_t start, off_t length) const {
    struct flock wanted{};
    wanted.l_type = type;
    wanted.l_whence = SEEK_SET;
    wanted.l_start = start;
    wanted.l_len = length;
    return ::fcntl(fd_.get(), F_OFD_SETLK, &wanted) == 0;
  }

 private:
  base::UniqueFd fd_;
};

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

// --- 4.0: owners count, and what is repeated is answered again.

class OpenCompound40 : public OpenCompound {
 protected:
  void SetUp() override {
    world_.write_local("file", "content");
    SETCLIENTID4args hello;
    hello.client.id = base::bytes_of("old client");
    Reply met = world_.send(Request(0).add(OP_SETCLIENTID, hello));
    const auto known = met.result<SETCLIENTID4res>(OP_SETCLIENTID);
    ASSERT_NE(known.resok4(), nullptr);
    client_ = known.resok4()->clientid;
    const SETCLIENTID_CONFIRM4args confirm{client_, known.resok4()->setclientid_confirm};
    ASSERT_EQ(world_.send(Request(0).add(OP_SETCLIENTID_CONFIRM, confirm)).status(), NFS4_OK);
  }
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

TEST_F(OpenCompound40, an_owner_opens_confirms_locks_unlocks_and_closes) {
  const OPEN4res first = open_40(1);
  ASSERT_NE(first.resok4(), nullptr);
  EXPECT_NE(first.resok4()->rflags & OPEN4_RESULT_CONFIRM, 0U);
  EXPECT_EQ(on_file_40(OP_READ, READ4args{first.resok4()->stateid, 0, 10}).status(), NFS4ERR_BAD_STATEID);
  const stateid4 id = confirmed(2, first.resok4()->stateid);
  EXPECT_EQ(on_file_40(OP_READ, READ4args{id, 0, 10}).status(), NFS4_OK);

  LOCK4args args = lock_args(id, "locker", nfs_lock_type4::WRITE_LT, 0, 10);
  open_to_lock_owner4 locker = *args.locker.open_owner();
  locker.open_seqid = 3;
  locker.lock_seqid = 70;
  locker.lock_owner.clientid = client_;
  args.locker = locker4::with_open_owner(locker);
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
