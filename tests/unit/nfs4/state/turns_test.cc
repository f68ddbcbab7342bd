// Operations of one 4.0 owner run one after another (RFC 7530 9.1.7).
#include <memory>
#include <string>
#include <vector>

#include "opens_fixture.h"
#include "tests/unit/nfs4/support/world.h"

namespace braid::nfs4::state::test {
namespace {

using How = OwnerTurn::How;

class TurnsTest : public StatesTest {
 protected:
  OwnerTurn begin(std::uint32_t seqid, TurnWaiter* waiter, const ClientRef& client,
                  std::string_view owner = "a") {
    return states.turns().begin_open(client, owner, seqid, now, after, waiter);
  }
  OwnerTurn begin(std::uint32_t seqid, TurnWaiter* waiter) { return begin(seqid, waiter, old); }
  // An owner that has opened and confirmed with seqids 1 and 2.
  stateid4 known_owner() {
    const OwnerTurn turn = begin(1, nullptr);
    const auto answer = open(old, "a", reads);
    EXPECT_EQ(states.turns().end(turn.owner, NFS4_OK, {}), nullptr);
    const OwnerTurn next =
        states.turns().begin(answer->id, StateKind::open, 2, nfs_opnum4::OP_OPEN_CONFIRM, now, after);
    const auto confirmed = states.opens().confirm(use(old, answer->id));
    EXPECT_EQ(states.turns().end(next.owner, NFS4_OK, {}), nullptr);
    return confirmed.value_or(stateid4{});
  }
};

TEST_F(TurnsTest, a_repetition_of_a_running_operation_waits_and_gets_its_reply) {
  known_owner();
  const OwnerTurn first = begin(3, nullptr);
  ASSERT_EQ(first.how, How::run);
  TurnWaiter waiter;
  EXPECT_EQ(begin(3, &waiter).how, How::wait);
  EXPECT_EQ(states.turns().end(first.owner, NFS4ERR_NOENT, {std::byte{7}}), &waiter);
  const OwnerTurn again = begin(3, &waiter);
  EXPECT_EQ(again.how, How::replay);
  EXPECT_EQ(again.status, NFS4ERR_NOENT);
  EXPECT_EQ(again.reply, base::Bytes{std::byte{7}});
}

TEST_F(TurnsTest, the_next_operation_waits_and_then_runs) {
  const stateid4 id = known_owner();
  const OwnerTurn first = begin(3, nullptr);
  TurnWaiter waiter;
  const auto close = [&] {
    return states.turns().begin(id, StateKind::open, 4, nfs_opnum4::OP_CLOSE, now, after, &waiter).how;
  };
  EXPECT_EQ(close(), How::wait);
  EXPECT_EQ(states.turns().end(first.owner, NFS4_OK, {}), &waiter);
  EXPECT_EQ(close(), How::run);
}

TEST_F(TurnsTest, who_waits_is_woken_in_the_order_of_coming_and_only_so_many_do) {
  known_owner();
  const OwnerTurn first = begin(3, nullptr);
  std::array<TurnWaiter, 6> waiters;
  std::size_t waiting = 0;
  while (waiting < waiters.size() && begin(3, &waiters.at(waiting)).how == How::wait) ++waiting;
  EXPECT_GT(waiting, 1U);
  EXPECT_LT(waiting, waiters.size());
  EXPECT_EQ(begin(3, &waiters.back()).status, NFS4ERR_RESOURCE) << "the client does not count its seqid up";
  const TurnWaiter* woken = states.turns().end(first.owner, NFS4_OK, {});
  for (std::size_t i = 0; i < waiting; ++i, woken = woken->next) ASSERT_EQ(woken, &waiters.at(i));
  EXPECT_EQ(woken, nullptr);
}

TEST_F(TurnsTest, other_owners_do_not_wait) {
  known_owner();
  ASSERT_EQ(begin(3, nullptr).how, How::run);
  TurnWaiter waiter;
  EXPECT_EQ(begin(3, &waiter, old, "b").how, How::run);
  EXPECT_EQ(begin(3, &waiter, make_client(9, 0)).how, How::run);
}

TEST_F(TurnsTest, who_waits_for_an_owner_whose_client_goes_is_woken_all_the_same) {
  known_owner();
  const OwnerTurn first = begin(3, nullptr);
  TurnWaiter waiter;
  ASSERT_EQ(begin(3, &waiter).how, How::wait);
  states.drop_client(old->id);
  EXPECT_EQ(states.turns().end(first.owner, NFS4_OK, {}), &waiter);
}

TEST_F(TurnsTest, the_first_open_of_an_owner_is_not_executed_again_when_it_is_repeated) {
  const OwnerTurn first = begin(10, nullptr);
  ASSERT_EQ(first.how, How::run);
  TurnWaiter waiter;
  ASSERT_EQ(begin(10, &waiter).how, How::wait);
  const auto answer = open(old, "a", reads);
  (void)states.turns().end(first.owner, NFS4_OK, {std::byte{1}});
  EXPECT_EQ(begin(10, &waiter).how, How::replay);
  EXPECT_EQ(status_of(states.opens().confirm(use(old, answer->id))), NFS4_OK);
}

}  // namespace
}  // namespace braid::nfs4::state::test

namespace braid::nfs4::test {
namespace {

using enum nfs_opnum4;
using enum nfsstat4;

// GUARDED4 waits for the disk; executed twice it would answer EXIST.
TEST(Turns40, a_request_that_comes_again_while_it_runs_is_executed_once) {
  World world;
  const clientid4 client = introduce_40(world, "client");
  for (int i = 0; i < 10; ++i) {
    const std::string name = "file" + std::to_string(i);
    OPEN4args args;
    args.seqid = 1;
    args.share_access = OPEN4_SHARE_ACCESS_BOTH;
    args.owner = {.clientid = client, .owner = base::bytes_of(name)};
    args.openhow = openflag4::with_how(createhow4::with_createattrs(createmode4::GUARDED4, {}));
    args.claim = open_claim4::with_file(name);
    Request request(0);
    request.add(OP_PUTROOTFH).add(OP_OPEN, args);
    std::vector<std::shared_ptr<Sent>> sent;
    for (int copy = 0; copy < 3; ++copy) sent.push_back(world.start(request));
    std::vector<stateid4> ids;
    for (const auto& one : sent) {
      Reply reply = world.wait(one);
      ASSERT_EQ(reply.status(), NFS4_OK);
      EXPECT_EQ(reply.status_of(OP_PUTROOTFH), NFS4_OK);
      ids.push_back(reply.result<OPEN4res>(OP_OPEN).resok4()->stateid);
    }
    EXPECT_EQ(ids[0], ids[1]);
    EXPECT_EQ(ids[0], ids[2]);
  }
}

}  // namespace
}  // namespace braid::nfs4::test
