// Sequence ids of 4.0 owners, OPEN_CONFIRM, and what stays of an owner after CLOSE.
#include <array>

#include "opens_fixture.h"

namespace braid::nfs4::state::test {
namespace {

using Turn = OwnerSequence::Turn;
using How = OwnerTurn::How;

base::Bytes some_bytes() { return {std::byte{1}, std::byte{2}}; }

TEST(OwnerSequenceTest, the_first_operation_may_bring_any_seqid_and_the_next_one_the_number_after) {
  for (const std::uint32_t start : {0U, 77U, 0xffff'fffeU}) {
    OwnerSequence sequence;
    EXPECT_EQ(sequence.begin(start, nfs_opnum4::OP_OPEN), Turn::run);
    sequence.end(NFS4_OK, {});
    EXPECT_EQ(sequence.begin(start + 2, nfs_opnum4::OP_CLOSE), Turn::bad);
    EXPECT_EQ(sequence.begin(start + 1, nfs_opnum4::OP_CLOSE), Turn::run);
  }
}

TEST(OwnerSequenceTest, a_repetition_gets_the_reply_again_and_only_of_the_same_operation) {
  OwnerSequence sequence;
  ASSERT_EQ(sequence.begin(5, nfs_opnum4::OP_CLOSE), Turn::run);
  EXPECT_EQ(sequence.begin(5, nfs_opnum4::OP_CLOSE), Turn::busy);
  sequence.end(NFS4ERR_LOCKS_HELD, some_bytes());
  EXPECT_EQ(sequence.begin(5, nfs_opnum4::OP_CLOSE), Turn::replay);
  EXPECT_EQ(sequence.status(), NFS4ERR_LOCKS_HELD);
  EXPECT_EQ(sequence.reply(), some_bytes());
  EXPECT_EQ(sequence.begin(5, nfs_opnum4::OP_OPEN_DOWNGRADE), Turn::bad);
}

TEST(OwnerSequenceTest, errors_after_which_clients_do_not_count_on_leave_the_seqid) {
  for (const nfsstat4 status :
       {NFS4ERR_STALE_CLIENTID, NFS4ERR_STALE_STATEID, NFS4ERR_BAD_STATEID, NFS4ERR_BAD_SEQID, NFS4ERR_BADXDR,
        NFS4ERR_RESOURCE, NFS4ERR_NOFILEHANDLE, NFS4ERR_MOVED}) {
    OwnerSequence sequence;
    ASSERT_EQ(sequence.begin(1, nfs_opnum4::OP_OPEN), Turn::run);
    sequence.end(NFS4_OK, {});
    ASSERT_EQ(sequence.begin(2, nfs_opnum4::OP_LOCK), Turn::run);
    sequence.end(status, {});
    EXPECT_EQ(sequence.begin(2, nfs_opnum4::OP_CLOSE), Turn::run) << static_cast<int>(status);
  }
  OwnerSequence sequence;
  ASSERT_EQ(sequence.begin(1, nfs_opnum4::OP_OPEN), Turn::run);
  sequence.end(NFS4ERR_ACCESS, {});
  EXPECT_EQ(sequence.begin(2, nfs_opnum4::OP_OPEN), Turn::run) << "any other error counts";
}

class OwnersTest : public StatesTest {
 protected:
  OwnerTurn begin_open(std::string_view owner, std::uint32_t seqid) {
    return states.turns().begin_open(old, owner, seqid, now, after);
  }
  OwnerTurn begin(const stateid4& id, std::uint32_t seqid, nfs_opnum4 op) {
    return states.turns().begin(id, StateKind::open, seqid, op, now, after);
  }
  // OPEN with its seqid.
  OpenAnswer open_in_turn(std::string_view owner, std::uint32_t seqid, const Share& share,
                          const vfs::FileHandle& file = handle(1)) {
    const OwnerTurn turn = begin_open(owner, seqid);
    EXPECT_EQ(turn.how, How::run);
    auto answer = open(old, owner, share, file);
    (void)states.turns().end(turn.owner, NFS4_OK, some_bytes());
    return answer.value_or(OpenAnswer{});
  }
  stateid4 confirm_in_turn(const stateid4& id, std::uint32_t seqid, const vfs::FileHandle& file = file_one) {
    const OwnerTurn turn = begin(id, seqid, nfs_opnum4::OP_OPEN_CONFIRM);
    EXPECT_EQ(turn.how, How::run);
    const auto confirmed = states.opens().confirm(use(old, id, file));
    (void)states.turns().end(turn.owner, status_of(confirmed), {});
    return confirmed.value_or(stateid4{});
  }
};

TEST_F(OwnersTest, a_new_owner_has_to_confirm_before_its_open_is_worth_anything) {
  const OpenAnswer answer = open_in_turn("a", 10, reads);
  EXPECT_TRUE(answer.confirm);
  EXPECT_EQ(io(old, answer.id, share_read), NFS4ERR_BAD_STATEID);
  EXPECT_EQ(status_of(states.opens().close(use(old, answer.id), after)), NFS4ERR_BAD_STATEID);
  const stateid4 id = confirm_in_turn(answer.id, 11);
  EXPECT_EQ(id.seqid, answer.id.seqid + 1);
  EXPECT_EQ(io(old, id, share_read), NFS4_OK);
  EXPECT_EQ(status_of(states.opens().confirm(use(old, id))), NFS4ERR_BAD_STATEID);
  EXPECT_FALSE(open_in_turn("a", 12, reads, handle(2)).confirm);
}

TEST_F(OwnersTest, an_owner_that_never_confirmed_begins_anew_with_its_next_open) {
  const OpenAnswer first = open_in_turn("a", 10, {share_both, share_both});
  const OpenAnswer second = open_in_turn("a", 500, reads, handle(2));
  EXPECT_TRUE(second.confirm);
  EXPECT_EQ(status_of(states.opens().confirm(use(old, first.id))), NFS4ERR_BAD_STATEID);
  EXPECT_EQ(status_of(open(bob, "b", reads_and_writes)), NFS4_OK) << "its first open is gone";
}

TEST_F(OwnersTest, who_reclaims_need_not_confirm) {
  const auto answer = states.opens().open({.client = old,
                                           .minor_version = 0,
                                           .owner = "a",
                                           .file = handle(1),
                                           .share = reads,
                                           .opener = {},
                                           .descriptor = descriptor(share_read),
                                           .wish = DelegationWish::none,
                                           .reclaim = true,
                                           .also_writes = false,
                                           .now = now},
                                          after);
  EXPECT_FALSE(answer->confirm);
}

// RFC 7530 9.6.3.4: what it would be told now, the next run of the server would not let it reclaim.
TEST_F(OwnersTest, state_of_a_client_that_is_off_the_record_is_for_later) {
  const stateid4 id = confirm_in_turn(open_in_turn("a", 1, reads).id, 2);
  old->set_reclaimed();
  old->set_recorded();
  EXPECT_EQ(io(old, id, share_read), NFS4_OK);
  ASSERT_TRUE(old->take_off_record(now + 1h, 90s));
  old->clear_recorded();
  EXPECT_EQ(io(old, id, share_read), NFS4ERR_DELAY);
  EXPECT_EQ(status_of(states.opens().close(use(old, id), after)), NFS4ERR_DELAY);
  old->set_recorded();
  EXPECT_EQ(io(old, id, share_read), NFS4_OK);
}

TEST_F(OwnersTest, a_close_can_be_repeated_until_the_owner_goes_on) {
  const stateid4 id = confirm_in_turn(open_in_turn("a", 1, reads).id, 2);
  const OwnerTurn turn = begin(id, 3, nfs_opnum4::OP_CLOSE);
  const auto closed = states.opens().close(use(old, id), after);
  EXPECT_EQ(closed->seqid, id.seqid + 1);
  (void)states.turns().end(turn.owner, NFS4_OK, some_bytes());

  const OwnerTurn again = begin(id, 3, nfs_opnum4::OP_CLOSE);
  EXPECT_EQ(again.how, How::replay);
  EXPECT_EQ(again.reply, some_bytes());
  EXPECT_EQ(io(old, *closed, share_read), NFS4ERR_BAD_STATEID);

  open_in_turn("a", 4, reads, handle(2));
  EXPECT_EQ(begin(id, 3, nfs_opnum4::OP_CLOSE).status, NFS4ERR_BAD_STATEID);
}

TEST_F(OwnersTest, an_open_is_repeated_and_not_executed_twice) {
  const stateid4 id = confirm_in_turn(open_in_turn("a", 1, reads).id, 2);
  open_in_turn("a", 3, writes);
  EXPECT_EQ(begin_open("a", 3).how, How::replay);
  EXPECT_EQ(begin_open("a", 2).status, NFS4ERR_BAD_SEQID);
  EXPECT_EQ(begin_open("a", 5).status, NFS4ERR_BAD_SEQID);
  EXPECT_EQ(begin(id, 4, nfs_opnum4::OP_CLOSE).how, How::run);
}

TEST_F(OwnersTest, the_first_lock_of_an_owner_starts_its_own_sequence) {
  const stateid4 id = confirm_in_turn(open_in_turn("a", 1, reads).id, 2);
  const HeldRange range{{0, 9}, LockMode::read};
  LockRequest request{.use = use(old, id), .new_owner = "l", .new_owner_seqid = 40, .wanted = range};
  const auto locked = states.locks().lock(request, after);
  ASSERT_TRUE(locked);
  EXPECT_EQ(states.turns().begin(locked->id, StateKind::lock, 40, nfs_opnum4::OP_LOCKU, now, after).status,
            NFS4ERR_BAD_SEQID);
  request.new_owner_seqid = 50;
  EXPECT_EQ(status_of(states.locks().lock(request, after)), NFS4ERR_BAD_SEQID);
  EXPECT_EQ(states.turns().begin(locked->id, StateKind::lock, 41, nfs_opnum4::OP_LOCKU, now, after).how,
            How::run);
}

TEST_F(OwnersTest, owners_without_state_are_forgotten_after_a_while) {
  const stateid4 id = confirm_in_turn(open_in_turn("a", 1, reads).id, 2);
  const OwnerTurn turn = begin(id, 3, nfs_opnum4::OP_CLOSE);
  ASSERT_TRUE(states.opens().close(use(old, id), after));
  (void)states.turns().end(turn.owner, NFS4_OK, {});
  open_in_turn("never confirmed", 1, {share_both, share_both});
  const stateid4 kept = confirm_in_turn(open_in_turn("stays", 1, reads, handle(2)).id, 2, handle(2));

  states.tick(now, now + 90s, after);
  EXPECT_EQ(states.size(), 1U);
  EXPECT_EQ(states.test(kept, *old), NFS4_OK);
  EXPECT_EQ(status_of(open(bob, "b", {share_both, share_both})), NFS4_OK);
}

TEST_F(OwnersTest, using_a_stateid_renews_the_lease_of_its_client) {
  const stateid4 id = confirm_in_turn(open_in_turn("a", 1, reads).id, 2);
  now += 60s;
  ASSERT_EQ(io(old, id, share_read), NFS4_OK);
  EXPECT_EQ(old->renewed(), now);
}

}  // namespace
}  // namespace braid::nfs4::state::test
