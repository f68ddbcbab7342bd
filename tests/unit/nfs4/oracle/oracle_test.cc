// libnfs understands every operation of NFSv4.0 but SECINFO, as request and as result, down to the last byte.
#include <array>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "tests/unit/nfs4/attributes/bytes.h"
#include "tests/unit/nfs4/oracle/libnfs_oracle.h"
#include "tests/unit/nfs4/state/opens_compound_fixture.h"

namespace braid::nfs4::test {
namespace {

base::Bytes flat(const io::Payload& payload) {
  base::Bytes bytes(payload.size());
  payload.in_memory().value().copy_to(0, bytes);
  return bytes;
}

class Oracle40 : public ::testing::Test {
 protected:
  void SetUp() override {
    world_.write_local("file", "content");
    std::filesystem::create_symlink("elsewhere", world_.directory() + "/link");
    SETCLIENTID4args hello;
    hello.client.id = base::bytes_of("client");
    hello.callback = {.cb_program = 0x40000000,
                      .cb_location = {.na_r_netid = "tcp", .na_r_addr = "192.0.2.1.3.200"}};
    Reply met = exchange(Request(0).tag("hello"), OP_SETCLIENTID, hello);
    const auto known = met.result<SETCLIENTID4res>(OP_SETCLIENTID);
    ASSERT_NE(known.resok4(), nullptr);
    client_ = known.resok4()->clientid;
    exchange(Request(0), OP_SETCLIENTID_CONFIRM,
             SETCLIENTID_CONFIRM4args{client_, known.resok4()->setclientid_confirm});
  }

  // Both ways through libnfs, whatever the outcome is.
  Reply exchange(const Request& request) {
    const base::Bytes sent = flat(request.encoded());
    const auto sent_again = compound_args_recoded_by_libnfs(sent);
    EXPECT_EQ(to_hex(sent_again.value_or(base::Bytes())), to_hex(sent));
    Reply reply = world_.send(request);
    const base::Bytes answered = flat(reply.bytes());
    const auto answered_again = compound_results_recoded_by_libnfs(answered);
    EXPECT_EQ(to_hex(answered_again.value_or(base::Bytes())), to_hex(answered));
    return reply;
  }
  // The operation at the end of `request`; its result comes next in the reply.
  template <class Args>
  Reply exchange(Request request, nfs_opnum4 op, const Args& args, nfsstat4 expected = NFS4_OK) {
    return exchange_added(request.add(op, args), op, expected);
  }
  Reply exchange(Request request, nfs_opnum4 op, nfsstat4 expected = NFS4_OK) {
    return exchange_added(request.add(op), op, expected);
  }
  template <class... Args>
  Reply in_root(nfs_opnum4 op, const Args&... args) {
    Reply reply = exchange(Request(0).add(OP_PUTROOTFH), op, args...);
    EXPECT_EQ(reply.status_of(OP_PUTROOTFH), NFS4_OK);
    return reply;
  }
  template <class... Args>
  Reply on_file(nfs_opnum4 op, const Args&... args) {
    Reply reply = exchange(Request(0).add(OP_PUTROOTFH).add(OP_LOOKUP, LOOKUP4args{"file"}), op, args...);
    EXPECT_EQ(reply.status_of(OP_PUTROOTFH), NFS4_OK);
    EXPECT_EQ(reply.status_of(OP_LOOKUP), NFS4_OK);
    return reply;
  }
  OPEN4args opening(OPEN4args args) {
    args.seqid = ++open_seqid_;
    args.owner.clientid = client_;
    return args;
  }
  stateid4 open(const OPEN4args& args) {
    Reply reply = in_root(OP_OPEN, opening(args));
    const auto result = reply.result<OPEN4res>(OP_OPEN);
    return result.resok4() == nullptr ? stateid4{} : result.resok4()->stateid;
  }
  // Of an owner that is new.
  stateid4 open_and_confirm() {
    const OPEN_CONFIRM4args confirm{open(open_args("file", both_access)), ++open_seqid_};
    Reply reply = on_file(OP_OPEN_CONFIRM, confirm);
    const auto result = reply.result<OPEN_CONFIRM4res>(OP_OPEN_CONFIRM);
    return result.resok4() == nullptr ? stateid4{} : result.resok4()->open_stateid;
  }

  World world_;
  clientid4 client_ = 0;
  std::uint32_t open_seqid_ = 0;
  std::set<nfs_opnum4> seen_;

 private:
  Reply exchange_added(const Request& request, nfs_opnum4 op, nfsstat4 expected) {
    SCOPED_TRACE(name_of(op));
    seen_.insert(op);
    Reply reply = exchange(request);
    EXPECT_EQ(reply.status(), expected);
    return reply;
  }
};

TEST_F(Oracle40, files_and_directories) {
  static constexpr std::array<std::uint32_t, 2> everything{
      0xffffffffU & ~(1U << FATTR4_RDATTR_ERROR),
      (1U << (FATTR4_MOUNTED_ON_FILEID - 32)) | (1U << (FATTR4_MODE - 32)) | (1U << (FATTR4_OWNER - 32))};
  const auto make = [&](std::string_view name, createtype4 type) {
    CREATE4args args;
    args.objtype = std::move(type);
    args.objname = name;
    in_root(OP_CREATE, args);
  };
  make("d", createtype4::with_NF4SOCK(nfs_ftype4::NF4DIR));
  make("l", createtype4::with_linkdata("there"));
  make("f", createtype4::with_NF4SOCK(nfs_ftype4::NF4FIFO));
  in_root(OP_GETATTR, GETATTR4args{everything});
  in_root(OP_GETFH);
  in_root(OP_ACCESS, ACCESS4args{0x3f});
  in_root(OP_READDIR, READDIR4args{0, {}, 4096, 65536, everything});
  in_root(OP_LOOKUP, LOOKUP4args{"none"}, NFS4ERR_NOENT);
  in_root(OP_OPENATTR, OPENATTR4args{false}, NFS4ERR_NOTSUPP);
  in_root(OP_REMOVE, REMOVE4args{"f"});
  exchange(Request(0).add(OP_PUTROOTFH).add(OP_LOOKUP, LOOKUP4args{"d"}), OP_LOOKUPP);
  exchange(Request(0).add(OP_PUTROOTFH).add(OP_LOOKUP, LOOKUP4args{"link"}), OP_READLINK);
  exchange(Request(0).add(OP_PUTROOTFH).add(OP_SAVEFH), OP_RENAME, RENAME4args{"l", "m"});
  exchange(Request(0).add(OP_PUTROOTFH).add(OP_SAVEFH), OP_RESTOREFH);
  exchange(Request(0).add(OP_PUTROOTFH), OP_SAVEFH);
  exchange(Request(0), OP_PUTROOTFH);
  exchange(Request(0), OP_PUTPUBFH);
  exchange(Request(0), OP_PUTFH, PUTFH4args{base::bytes_of("no handle")}, NFS4ERR_BADHANDLE);
  exchange(Request(0).add(OP_PUTROOTFH).add(OP_LOOKUP, LOOKUP4args{"file"}).add(OP_SAVEFH).add(OP_PUTROOTFH),
           OP_LINK, LINK4args{"second"});
  on_file(OP_SETATTR, SETATTR4args{state::anonymous_stateid(), size_of(5)});
  on_file(OP_VERIFY, VERIFY4args{size_of(5)});
  on_file(OP_NVERIFY, NVERIFY4args{size_of(5)}, NFS4ERR_SAME);
  on_file(OP_COMMIT, COMMIT4args{0, 0});
  EXPECT_EQ(seen_.size(), 23U);
}

TEST_F(Oracle40, opens_and_locks) {
  const stateid4 id = open_and_confirm();
  on_file(OP_READ, READ4args{id, 0, 10});
  const io::Payload data = size_of(0x1234).attr_vals;
  on_file(OP_WRITE, WRITE4args{.stateid = id, .offset = 3, .stable = stable_how4::FILE_SYNC4, .data = data});

  const LOCK4args lock = first_lock_args(id, client_, ++open_seqid_, 70);
  Reply locked = on_file(OP_LOCK, lock);
  const auto lock_result = locked.result<LOCK4res>(OP_LOCK);
  ASSERT_NE(lock_result.resok4(), nullptr);
  const stateid4 lock_id = lock_result.resok4()->lock_stateid;
  const lock_owner4 other{client_, base::bytes_of("other")};
  on_file(OP_LOCKT, LOCKT4args{nfs_lock_type4::READ_LT, 5, 1, other}, NFS4ERR_DENIED);
  on_file(OP_LOCKT, LOCKT4args{nfs_lock_type4::READ_LT, 50, 1, other});
  on_file(OP_LOCKU, LOCKU4args{nfs_lock_type4::WRITE_LT, 71, lock_id, 0, UINT64_MAX});
  exchange(Request(0), OP_RELEASE_LOCKOWNER, RELEASE_LOCKOWNER4args{lock.locker.open_owner()->lock_owner});

  const OPEN_DOWNGRADE4args less{id, ++open_seqid_, read_access, 0};
  on_file(OP_OPEN_DOWNGRADE, less, NFS4ERR_INVAL);
  Reply closed = on_file(OP_CLOSE, CLOSE4args{++open_seqid_, id});
  EXPECT_EQ(closed.result<CLOSE4res>(OP_CLOSE).status, NFS4_OK);
  on_file(OP_DELEGRETURN, DELEGRETURN4args{id}, NFS4ERR_OLD_STATEID);
  exchange(Request(0), OP_RENEW, RENEW4args{client_});
  exchange(Request(0), OP_DELEGPURGE, DELEGPURGE4args{client_}, NFS4ERR_NOTSUPP);
  EXPECT_EQ(seen_.size(), 15U);
}

TEST_F(Oracle40, the_ways_to_open) {
  open_and_confirm();
  open(create_args("unchecked", unchecked(size_of(0))));
  open(create_args("guarded", guarded()));
  open(create_args("exclusive", exclusive(1)));
  in_root(OP_OPEN, opening(create_args("guarded", guarded())), NFS4ERR_EXIST);
  OPEN4args reclaim = open_args("", read_access);
  reclaim.claim = open_claim4::with_delegate_type(open_delegation_type4::OPEN_DELEGATE_NONE);
  on_file(OP_OPEN, opening(reclaim), NFS4ERR_NO_GRACE);
  OPEN4args previously = open_args("", read_access);
  previously.claim = open_claim4::with_file_delegate_prev("file");
  in_root(OP_OPEN, opening(previously), NFS4ERR_NOTSUPP);
  OPEN4args delegated = open_args("", read_access);
  delegated.claim = open_claim4::with_delegate_cur_info({.delegate_stateid = {}, .file = "file"});
  in_root(OP_OPEN, opening(delegated), NFS4ERR_BAD_STATEID);
}

}  // namespace
}  // namespace braid::nfs4::test
