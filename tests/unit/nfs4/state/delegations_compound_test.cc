// Delegations as clients, local processes and NFSv3 meet them: whole COMPOUNDs over a real directory.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "delegations_compound_fixture.h"
#include "nfs4/state/state_id.h"

namespace braid::nfs4::test {
namespace {

using namespace std::chrono_literals;

TEST_F(DelegationCompound, a_reader_gets_one_and_others_may_read_beside_it) {
  const OPEN4resok first = open_file(alice_, read_access);
  ASSERT_NE(reading(first.delegation), nullptr);
  EXPECT_FALSE(reading(first.delegation)->recall);
  open_file(bob_, read_access);
  EXPECT_TRUE(opens_locally(O_RDONLY));
  EXPECT_EQ(on_file(alice_, OP_READ, READ4args{id_of(first.delegation), 0, 10}).status(), NFS4_OK);
  EXPECT_EQ(on_file(alice_, OP_WRITE, WRITE4args{.stateid = id_of(first.delegation)}).status(),
            NFS4ERR_OPENMODE);
  EXPECT_TRUE(peer_.calls().empty());
  EXPECT_EQ(give_back(alice_, id_of(first.delegation)), NFS4_OK);
  EXPECT_EQ(give_back(alice_, id_of(first.delegation)), NFS4ERR_BAD_STATEID);
}

TEST_F(DelegationCompound, a_writer_gets_one_that_it_can_read_by_too) {
  for (const std::uint32_t access : {both_access, write_access}) {
    SCOPED_TRACE(access);
    const OPEN4resok opened = open_file(alice_, access);
    ASSERT_NE(writing(opened.delegation), nullptr);
    const auto* filesize = writing(opened.delegation)->space_limit.filesize();
    ASSERT_NE(filesize, nullptr);
    EXPECT_EQ(*filesize, 0U) << "what is closed is to be written back";
    const stateid4 id = writing(opened.delegation)->stateid;
    EXPECT_EQ(on_file(alice_, OP_READ, READ4args{id, 0, 10}).status(), NFS4_OK);
    EXPECT_EQ(on_file(alice_, OP_WRITE, WRITE4args{.stateid = id, .stable = stable_how4::UNSTABLE4}).status(),
              NFS4_OK);
    EXPECT_TRUE(peer_.calls().empty());
    EXPECT_EQ(give_back(alice_, id), NFS4_OK);
    EXPECT_EQ(on_file(alice_, OP_CLOSE, CLOSE4args{0, opened.stateid}).status(), NFS4_OK);
  }
}

TEST_F(DelegationCompound, who_cannot_be_called_back_gets_none) {
  EXPECT_EQ(open_file(bob_, read_access).delegation.delegation_type, OPEN_DELEGATE_NONE);
  const auto told = open_file(bob_, read_access | any_wish).delegation;
  ASSERT_EQ(told.delegation_type, OPEN_DELEGATE_NONE_EXT);
  EXPECT_EQ(told.od_whynone()->ond_why, why_no_delegation4::WND4_RESOURCE);
}

struct WantCase {
  std::uint32_t want;
  open_delegation_type4 type;
  why_no_delegation4 why = why_no_delegation4::WND4_NOT_WANTED;
};

TEST_F(DelegationCompound, wishes_are_heard) {
  using enum why_no_delegation4;
  for (const WantCase& one :
       {WantCase{OPEN4_SHARE_ACCESS_WANT_NO_DELEG, OPEN_DELEGATE_NONE_EXT, WND4_NOT_WANTED},
        WantCase{OPEN4_SHARE_ACCESS_WANT_CANCEL, OPEN_DELEGATE_NONE_EXT, WND4_CANCELLED},
        WantCase{OPEN4_SHARE_ACCESS_WANT_NO_PREFERENCE, OPEN_DELEGATE_READ},
        WantCase{OPEN4_SHARE_ACCESS_WANT_READ_DELEG, OPEN_DELEGATE_READ},
        WantCase{OPEN4_SHARE_ACCESS_WANT_ANY_DELEG, OPEN_DELEGATE_READ},
        WantCase{OPEN4_SHARE_ACCESS_WANT_WRITE_DELEG, OPEN_DELEGATE_READ},
        WantCase{OPEN4_SHARE_ACCESS_WANT_ANY_DELEG | OPEN4_SHARE_ACCESS_WANT_DELEG_TIMESTAMPS,
                 OPEN_DELEGATE_READ_ATTRS_DELEG}}) {
    SCOPED_TRACE(one.want);
    const auto delegation = open_file(alice_, read_access | one.want).delegation;
    ASSERT_EQ(delegation.delegation_type, one.type);
    if (one.type == OPEN_DELEGATE_NONE_EXT) {
      EXPECT_EQ(delegation.od_whynone()->ond_why, one.why);
    } else {
      EXPECT_EQ(give_back(alice_, id_of(delegation)), NFS4_OK);
    }
  }
}

TEST_F(DelegationCompound, contention_is_told_and_lasts_a_while) {
  const stateid4 id = id_of(open_file(alice_, read_access).delegation);
  open_file(bob_, write_access, NFS4ERR_DELAY);
  EXPECT_EQ(give_back(alice_, id), NFS4_OK);
  const auto none = open_file(alice_, read_access | any_wish).delegation;
  ASSERT_EQ(none.delegation_type, OPEN_DELEGATE_NONE_EXT);
  EXPECT_EQ(none.od_whynone()->ond_why, why_no_delegation4::WND4_CONTENTION);
  EXPECT_FALSE(*none.od_whynone()->ond_server_will_push_deleg());
  world_.advance(31s);
  EXPECT_NE(reading(open_file(alice_, read_access).delegation), nullptr);
}

TEST_F(DelegationCompound, a_local_writer_keeps_it_from_being_given) {
  const std::string path = world_.directory() + "/file";
  const base::UniqueFd writer(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  EXPECT_EQ(open_file(alice_, read_access).delegation.delegation_type, OPEN_DELEGATE_NONE);
}

TEST_F(DelegationCompound, none_is_given_of_what_was_written_without_an_open_just_now) {
  const WRITE4args write{.stateid = {}, .stable = stable_how4::UNSTABLE4};
  EXPECT_EQ(on_file(bob_, OP_WRITE, write).status(), NFS4_OK);
  const OPEN4resok opened = open_file(alice_, read_access);
  EXPECT_EQ(opened.delegation.delegation_type, OPEN_DELEGATE_NONE);
  EXPECT_EQ(on_file(alice_, OP_CLOSE, CLOSE4args{0, opened.stateid}).status(), NFS4_OK);
  world_.advance(3s);
  world_.file_system().sweep();
  EXPECT_NE(reading(open_file(alice_, read_access).delegation), nullptr);
}

// --- Recalls: everything by others that conflicts with a read delegation.

TEST_F(DelegationCompound, what_others_do_has_it_recalled_and_goes_on_when_it_is_back) {
  std::size_t recalls = 0;
  for (const Conflict& one : conflicts) {
    SCOPED_TRACE(one.name);
    const stateid4 id = delegate_anew();
    EXPECT_EQ(bob_.send(one.request(bob_)).status(), NFS4ERR_DELAY);
    EXPECT_EQ(peer_.await(nfs_cb_opnum4::OP_CB_RECALL, ++recalls).id, id);
    EXPECT_EQ(bob_.send(one.request(bob_)).status(), NFS4ERR_DELAY);
    Request back = alice_.request();
    back.add(OP_PUTROOTFH).add(OP_LOOKUP, LOOKUP4args{"file"}).add(OP_DELEGRETURN, DELEGRETURN4args{id});
    EXPECT_EQ(alice_.send(back).status(), NFS4_OK);
    Reply done = bob_.send(one.request(bob_));
    EXPECT_EQ(done.status(), NFS4_OK);
    if (std::string_view(one.name) != "OPEN") continue;
    EXPECT_EQ(done.status_of(OP_PUTROOTFH), NFS4_OK);
    const stateid4 theirs = done.result<OPEN4res>(OP_OPEN).resok4()->stateid;
    EXPECT_EQ(on_file(bob_, OP_CLOSE, CLOSE4args{0, theirs}).status(), NFS4_OK);
  }
  EXPECT_EQ(peer_.calls().size(), std::size(conflicts));
}

TEST_F(DelegationCompound, changes_by_its_holder_leave_it_alone) {
  const stateid4 id = id_of(open_file(alice_, read_access).delegation);
  for (const Conflict& one : conflicts) {
    const std::string_view name = one.name;
    if (name != "SETATTR" && name != "LINK") continue;
    EXPECT_EQ(alice_.send(one.request(alice_)).status(), NFS4_OK) << name;
  }
  EXPECT_TRUE(peer_.calls().empty());
  EXPECT_EQ(give_back(alice_, id), NFS4_OK);
}

TEST_F(DelegationCompound, its_holder_may_write_at_once_and_is_asked_for_its_read_delegation) {
  const stateid4 id = id_of(open_file(alice_, read_access).delegation);
  open_file(alice_, write_access);
  EXPECT_EQ(peer_.await(nfs_cb_opnum4::OP_CB_RECALL).id, id);
  EXPECT_EQ(on_file(alice_, OP_READ, READ4args{id, 0, 10}).status(), NFS4_OK);
  EXPECT_EQ(give_back(alice_, id), NFS4_OK);
}

TEST_F(DelegationCompound, a_local_open_waits_and_has_it_recalled) {
  const stateid4 id = id_of(open_file(alice_, read_access).delegation);
  EXPECT_FALSE(opens_locally(O_WRONLY));
  EXPECT_EQ(peer_.await(nfs_cb_opnum4::OP_CB_RECALL).id, id);
  EXPECT_EQ(give_back(alice_, id), NFS4_OK);
  EXPECT_TRUE(opens_locally(O_WRONLY));
}

// What other protocols do goes by the same file system.
TEST_F(DelegationCompound, a_change_without_nfsv4_has_it_recalled) {
  const stateid4 id = id_of(open_file(alice_, read_access).delegation);
  const auto refused = remove_without_nfsv4(world_, "", "file");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), vfs::Error::delay);
  EXPECT_EQ(peer_.await(nfs_cb_opnum4::OP_CB_RECALL).id, id);
  EXPECT_EQ(give_back(alice_, id), NFS4_OK);
  EXPECT_TRUE(remove_without_nfsv4(world_, "", "file"));
}

TEST_F(DelegationCompound, under_a_recall_its_holder_opens_what_it_has_let_local_programs_open) {
  const stateid4 id = id_of(open_file(alice_, both_access).delegation);
  open_file(bob_, read_access, NFS4ERR_DELAY);
  const OPEN4resok by_handle =
      open(alice_, open_args(open_claim4::with_oc_delegate_stateid(id), write_access));
  EXPECT_EQ(by_handle.delegation.delegation_type, OPEN_DELEGATE_NONE);
  const open_claim_delegate_cur4 named{.delegate_stateid = id, .file = "file"};
  open(alice_, open_args(open_claim4::with_delegate_cur_info(named), read_access));
  open(bob_, open_args(open_claim4::with_oc_delegate_stateid(id), read_access), NFS4ERR_DELAY);
  EXPECT_EQ(give_back(alice_, id), NFS4_OK);
  open(alice_, open_args(open_claim4::with_oc_delegate_stateid(id), read_access), NFS4ERR_BAD_STATEID);
  open(alice_, open_args(open_claim4::with_CLAIM_DELEG_PREV_FH(), read_access), NFS4ERR_NOTSUPP);
}

TEST_F(DelegationCompound, one_that_does_not_come_back_is_revoked_after_the_lease) {
  peer_.silent = true;
  const stateid4 id = id_of(open_file(alice_, read_access).delegation);
  open_file(bob_, write_access, NFS4ERR_DELAY);
  peer_.await(nfs_cb_opnum4::OP_CB_RECALL);
  world_.advance(60s);
  world_.tick();
  EXPECT_EQ(on_file(alice_, OP_READ, READ4args{id, 0, 10}).status(), NFS4_OK);
  open_file(bob_, write_access, NFS4ERR_DELAY);
  world_.advance(60s);
  world_.tick();
  EXPECT_EQ(on_file(alice_, OP_READ, READ4args{id, 0, 10}).status(), NFS4ERR_DELEG_REVOKED);
  EXPECT_EQ(give_back(alice_, id), NFS4ERR_DELEG_REVOKED);
  open_file(bob_, write_access);
  const auto flags = [&] {
    Reply reply = world_.send(alice_.request(), alice_.caller());
    return reply.result<SEQUENCE4res>(OP_SEQUENCE).sr_resok4()->sr_status_flags;
  };
  EXPECT_NE(flags() & SEQ4_STATUS_RECALLABLE_STATE_REVOKED, 0U);
  EXPECT_EQ(alice_.send(alice_.request().add(OP_FREE_STATEID, FREE_STATEID4args{id})).status(), NFS4_OK);
  EXPECT_EQ(flags() & SEQ4_STATUS_RECALLABLE_STATE_REVOKED, 0U);
}

TEST_F(DelegationCompound, a_holder_whose_lease_is_over_is_in_nobodys_way) {
  peer_.silent = true;
  open_file(alice_, both_access);
  world_.advance(60s);
  open_file(bob_, read_access, NFS4ERR_DELAY);
  world_.advance(60s);
  open_file(bob_, read_access);
}

// --- What another client sees of a file that its holder writes.

TEST_F(DelegationCompound, the_holder_is_asked_for_the_size_of_what_it_has_written) {
  const stateid4 id = id_of(open_file(alice_, both_access).delegation);
  peer_.change = 1;
  peer_.size = 4711;
  EXPECT_EQ(size_seen_by(bob_), 4711U);
  EXPECT_EQ(peer_.await(nfs_cb_opnum4::OP_CB_GETATTR).attributes, 1U);
  EXPECT_EQ(size_seen_by(alice_), 7U) << "it knows better itself";
  EXPECT_EQ(give_back(alice_, id), NFS4_OK);
  EXPECT_EQ(size_seen_by(bob_), 7U);
  EXPECT_EQ(peer_.calls().size(), 1U);
}

TEST_F(DelegationCompound, a_holder_that_does_not_say_has_it_recalled) {
  open_file(alice_, both_access);
  peer_.status = NFS4ERR_BADHANDLE;
  EXPECT_EQ(size_seen_by(bob_), std::nullopt);
  peer_.await(nfs_cb_opnum4::OP_CB_RECALL);
}

// --- RFC 9754.

TEST_F(DelegationCompound, a_delegation_can_stand_for_the_open) {
  const std::uint32_t wish = any_wish | OPEN4_SHARE_ACCESS_WANT_OPEN_XOR_DELEGATION;
  const OPEN4resok first = open_file(alice_, read_access | wish);
  const stateid4 id = id_of(first.delegation);
  EXPECT_NE(first.rflags & OPEN4_RESULT_NO_OPEN_STATEID, 0U);
  EXPECT_EQ(first.stateid, state::anonymous_stateid());
  EXPECT_EQ(on_file(alice_, OP_READ, READ4args{id, 0, 10}).status(), NFS4_OK);
  const OPEN4resok again = open_file(alice_, read_access | wish);
  EXPECT_EQ(again.rflags & OPEN4_RESULT_NO_OPEN_STATEID, 0U) << "no delegation, hence an open";
  EXPECT_EQ(on_file(alice_, OP_READ, READ4args{again.stateid, 0, 10}).status(), NFS4_OK);
}

TEST_F(DelegationCompound, local_changes_of_names_and_attributes_have_it_recalled) {
  using Path = std::string;
  const std::pair<const char*, int (*)(const Path&)> changes[] = {
      {"chmod", [](const Path& file) { return ::chmod(file.c_str(), 0640); }},
      {"rename", [](const Path& file) { return ::rename(file.c_str(), (file + "2").c_str()); }},
      {"replace", [](const Path& file) { return ::rename((file + "er").c_str(), file.c_str()); }},
      {"remove", [](const Path& file) { return ::unlink(file.c_str()); }},
  };
  std::size_t recalls = 0;
  for (const auto& [name, change] : changes) {
    SCOPED_TRACE(name);
    world_.write_local(name, "content");
    const stateid4 id = id_of(open(alice_, open_args(open_claim4::with_file(name), read_access)).delegation);
    world_.write_local(std::string(name) + "er", "another file");
    ASSERT_EQ(change(world_.directory() + "/" + name), 0);
    EXPECT_EQ(peer_.await(nfs_cb_opnum4::OP_CB_RECALL, ++recalls).id, id);
  }
}

TEST_F(DelegationCompound, what_its_holder_changes_does_not_have_it_recalled) {
  const stateid4 id = id_of(open_file(alice_, both_access | any_wish).delegation);
  static constexpr std::array<std::uint32_t, 2> mask{0, 1U << (FATTR4_MODE - 32)};
  io::SlabCursor cursor(test_slabs());
  xdr::Encoder out(cursor);
  out.u32(0600);
  const SETATTR4args mode{anonymous(), {.attrmask = mask, .attr_vals = out.finish().bytes}};
  EXPECT_EQ(on_file(alice_, OP_SETATTR, mode).status(), NFS4_OK);
  EXPECT_TRUE(peer_.calls().empty());
  EXPECT_EQ(give_back(alice_, id), NFS4_OK);
}

TEST_F(DelegationCompound, who_does_not_answer_gets_none_until_it_does) {
  world_.write_local("other", "content");
  const auto open_other = [&] {
    return open(alice_, open_args(open_claim4::with_file("other"), read_access | any_wish)).delegation;
  };
  const auto told = [&] {
    Reply reply = world_.send(alice_.request(), alice_.caller());
    return reply.result<SEQUENCE4res>(OP_SEQUENCE).sr_resok4()->sr_status_flags;
  };
  const auto bind = [&] {
    const BIND_CONN_TO_SESSION4args args{.bctsa_sessid = alice_.session(),
                                         .bctsa_dir = channel_dir_from_client4::CDFC4_BACK_OR_BOTH};
    EXPECT_EQ(world_.send(Request(2).add(OP_BIND_CONN_TO_SESSION, args), alice_.caller()).status(), NFS4_OK);
  };
  peer_.silent = true;
  EXPECT_NE(reading(open_file(alice_, read_access).delegation), nullptr);
  open_file(bob_, write_access, NFS4ERR_DELAY);
  peer_.await(nfs_cb_opnum4::OP_CB_RECALL);
  EXPECT_EQ(told(), 0U);
  world_.advance(11s);
  CallbackWorld::until([&] { return told() != 0; });
  EXPECT_EQ(told(), SEQ4_STATUS_CB_PATH_DOWN | SEQ4_STATUS_CB_PATH_DOWN_SESSION);
  EXPECT_EQ(open_other().od_whynone()->ond_why, why_no_delegation4::WND4_RESOURCE);

  bind();
  EXPECT_EQ(told(), 0U);
  peer_.await(nfs_cb_opnum4::OP_CB_SEQUENCE);
  EXPECT_EQ(open_other().od_whynone()->ond_why, why_no_delegation4::WND4_RESOURCE);
  world_.advance(11s);
  CallbackWorld::until([&] { return told() != 0; });

  peer_.silent = false;
  bind();
  CallbackWorld::until([&] { return reading(open_other()) != nullptr; });
  EXPECT_EQ(told(), 0U);
}

EngineOptions with_lease(base::Duration lease) {
  EngineOptions options;
  options.clients.lease = lease;
  return options;
}

class ShortLease : public DelegationCompound {
 protected:
  ShortLease() : DelegationCompound(Delegations::read, with_lease(20s)) {}
};
TEST_F(ShortLease, a_client_that_does_not_answer_is_called_again_long_before_its_delegation_is_revoked) {
  peer_.silent = true;
  EXPECT_NE(reading(open_file(alice_, read_access).delegation), nullptr);
  open_file(bob_, write_access, NFS4ERR_DELAY);
  peer_.await(nfs_cb_opnum4::OP_CB_RECALL);
  for (int second = 1; second < 10; ++second) {
    world_.advance(1s);
    for (int turn = 0; turn < 10; ++turn) world_.on_reactor([] {});
  }
  peer_.await(nfs_cb_opnum4::OP_CB_RECALL, 2);
}

class ReadDelegationsOnly : public DelegationCompound {
 protected:
  ReadDelegationsOnly() : DelegationCompound(Delegations::read) {}
};
TEST_F(ReadDelegationsOnly, writers_get_none) {
  EXPECT_NE(reading(open_file(alice_, read_access).delegation), nullptr);
  const auto told = open_file(alice_, both_access | any_wish).delegation;
  ASSERT_EQ(told.delegation_type, OPEN_DELEGATE_NONE_EXT);
  EXPECT_EQ(told.od_whynone()->ond_why, why_no_delegation4::WND4_WRITE_DELEG_NOT_SUPP_FTYPE);
}

class NoDelegations : public DelegationCompound {
 protected:
  NoDelegations() : DelegationCompound(Delegations::none) {}
};
TEST_F(NoDelegations, nobody_gets_one) {
  EXPECT_EQ(open_file(alice_, read_access).delegation.delegation_type, OPEN_DELEGATE_NONE);
  EXPECT_FALSE(world_.engine().state().facts.delegated_times);
}

}  // namespace
}  // namespace braid::nfs4::test
