// Whose turn it is to lock what has become free.
#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <string_view>
#include <utility>

#include "opens_fixture.h"

namespace braid::nfs4::state::test {
namespace {

class LockTurnsTest : public StatesTest {
 protected:
  stateid4 by_alice = opened(alice, "a", reads_and_writes);
  stateid4 by_bob = opened(bob, "b", reads_and_writes);
  stateid4 held = lock(alice, by_alice, "holder", write_0_9)->id;
  void release() { held = unlock(use(alice, held), {0, 9}).value(); }
};

TEST_F(LockTurnsTest, who_waits_gets_the_lock_before_who_comes_later) {
  EXPECT_EQ(status_of(lock(bob, by_bob, "waiter", write_0_9, true)), NFS4ERR_DENIED);
  release();
  ASSERT_EQ(after.turns.size(), 1U);
  EXPECT_EQ(after.turns[0].owner, "waiter");
  const auto late = lock(alice, by_alice, "late", read_0_9);
  ASSERT_EQ(status_of(late), NFS4ERR_DENIED);
  EXPECT_EQ(late.error().holder->owner, "waiter");
  EXPECT_EQ(status_of(lock(alice, by_alice, "elsewhere", {{10, 19}, LockMode::write})), NFS4_OK);
  EXPECT_EQ(status_of(lock(bob, by_bob, "waiter", write_0_9, true)), NFS4_OK);
}

TEST_F(LockTurnsTest, who_does_not_ask_again_has_lost_its_place_when_the_range_is_free) {
  EXPECT_EQ(status_of(lock(bob, by_bob, "waiter", write_0_9, true)), NFS4ERR_DENIED);
  now += states.limits().lock_patience;
  release();
  EXPECT_EQ(status_of(lock(alice, by_alice, "late", write_0_9)), NFS4_OK);
}

TEST_F(LockTurnsTest, a_turn_that_is_not_used_is_over_after_a_moment) {
  EXPECT_EQ(status_of(lock(bob, by_bob, "gave up", write_0_9, true)), NFS4ERR_DENIED);
  EXPECT_EQ(status_of(lock(bob, by_bob, "next", write_0_9, true)), NFS4ERR_DENIED);
  release();
  after = {};
  EXPECT_EQ(status_of(lock(alice, by_alice, "late", write_0_9)), NFS4ERR_DENIED);
  EXPECT_TRUE(states.locks().test(alice->id, "late", file_one, write_0_9))
      << "LOCKT says what LOCK would say";
  now += states.limits().lock_turn;
  // The next in the queue is told at once.
  EXPECT_EQ(status_of(lock(alice, by_alice, "late", write_0_9)), NFS4ERR_DENIED);
  ASSERT_EQ(after.turns.size(), 1U);
  EXPECT_EQ(after.turns[0].owner, "next");
  now += states.limits().lock_turn;
  EXPECT_FALSE(states.locks().test(bob->id, "next", file_one, write_0_9));
  EXPECT_EQ(status_of(lock(alice, by_alice, "late", write_0_9)), NFS4_OK);
}

TEST_F(LockTurnsTest, a_turn_ends_without_anybody_asking) {
  EXPECT_EQ(status_of(lock(bob, by_bob, "gave up", write_0_9, true)), NFS4ERR_DENIED);
  EXPECT_EQ(status_of(lock(bob, by_bob, "next", write_0_9, true)), NFS4ERR_DENIED);
  release();
  after = {};
  states.tick(now, now, after);
  EXPECT_TRUE(after.turns.empty());
  now += states.limits().lock_turn;
  states.tick(now, now, after);
  ASSERT_EQ(after.turns.size(), 1U);
  EXPECT_EQ(after.turns[0].owner, "next");
}

TEST_F(LockTurnsTest, who_waits_for_other_bytes_in_front_does_not_pass_one_whose_turn_it_is) {
  const HeldRange elsewhere{{20, 29}, LockMode::write};
  const stateid4 other = lock(alice, by_alice, "other", elsewhere)->id;
  EXPECT_EQ(status_of(lock(bob, by_bob, "in front", elsewhere, true)), NFS4ERR_DENIED);
  EXPECT_EQ(status_of(lock(alice, by_alice, "waiter", write_0_9, true)), NFS4ERR_DENIED);
  release();
  EXPECT_EQ(status_of(lock(bob, by_bob, "in front", write_0_9)), NFS4ERR_DENIED);
  EXPECT_EQ(status_of(lock(alice, by_alice, "waiter", write_0_9, true)), NFS4_OK);
  after = {};
  ASSERT_TRUE(unlock(use(alice, other), {20, 29}));
  ASSERT_EQ(after.turns.size(), 1U);
  EXPECT_EQ(after.turns[0].owner, "in front") << "it has kept its place for what it waits for";
}

TEST_F(LockTurnsTest, whoever_has_locked_other_bytes_still_has_its_place) {
  EXPECT_EQ(status_of(lock(bob, by_bob, "waiter", write_0_9, true)), NFS4ERR_DENIED);
  EXPECT_EQ(status_of(lock(bob, by_bob, "waiter", {{20, 29}, LockMode::write})), NFS4_OK);
  release();
  EXPECT_EQ(after.turns.size(), 1U);
}

TEST_F(LockTurnsTest, waiters_are_served_in_the_order_in_which_they_asked) {
  EXPECT_EQ(status_of(lock(bob, by_bob, "first", write_0_9, true)), NFS4ERR_DENIED);
  EXPECT_EQ(status_of(lock(alice, by_alice, "second", write_0_9, true)), NFS4ERR_DENIED);
  release();
  EXPECT_EQ(status_of(lock(alice, by_alice, "second", write_0_9, true)), NFS4ERR_DENIED);
  const auto first = lock(bob, by_bob, "first", write_0_9, true);
  ASSERT_TRUE(first);
  after = {};
  ASSERT_TRUE(unlock(use(bob, first->id), {0, 9}));
  ASSERT_EQ(after.turns.size(), 1U);
  EXPECT_EQ(after.turns[0].owner, "second");
}

TEST_F(LockTurnsTest, whoever_was_in_the_way_of_what_the_file_system_refused_is_told) {
  const HeldRange elsewhere{{20, 29}, LockMode::write};
  const auto refused = lock(alice, by_alice, "refused", elsewhere);
  ASSERT_TRUE(refused);
  EXPECT_EQ(status_of(lock(bob, by_bob, "waits", elsewhere, true)), NFS4ERR_DENIED);
  undo(*refused, elsewhere, false);
  ASSERT_EQ(after.turns.size(), 1U);
  EXPECT_EQ(after.turns[0].owner, "waits");
}

TEST_F(LockTurnsTest, who_waits_for_other_bytes_is_not_told) {
  EXPECT_EQ(status_of(lock(bob, by_bob, "waiter", write_0_9, true)), NFS4ERR_DENIED);
  const stateid4 elsewhere = lock(alice, by_alice, "other", {{20, 29}, LockMode::write})->id;
  ASSERT_TRUE(unlock(use(alice, elsewhere), {20, 29}));
  EXPECT_TRUE(after.turns.empty());
  ASSERT_TRUE(states.opens().close(use(alice, by_alice), after));
  EXPECT_EQ(after.turns.size(), 1U) << "closing releases all";
}

TEST_F(LockTurnsTest, who_asked_without_waiting_has_no_turn) {
  EXPECT_EQ(status_of(lock(bob, by_bob, "tries", write_0_9, false)), NFS4ERR_DENIED);
  release();
  EXPECT_EQ(status_of(lock(alice, by_alice, "late", write_0_9)), NFS4_OK);
}

TEST_F(LockTurnsTest, a_waiter_of_a_client_that_is_gone_holds_up_nobody) {
  EXPECT_EQ(status_of(lock(bob, by_bob, "waiter", write_0_9, true)), NFS4ERR_DENIED);
  states.drop_client(bob->id);
  release();
  EXPECT_EQ(status_of(lock(alice, by_alice, "late", write_0_9)), NFS4_OK);
}

// Clients of 4.0 cannot be told, and ask again after 1 s, then after twice as long each time, up to 30 s.
class Contender {
 public:
  explicit Contender(ClientRef who, const stateid4& open_id) : client(std::move(who)), id(open_id) {}

  const ClientRef client;
  stateid4 id;  // of the open, then of the locks
  bool fresh = true;
  bool holds = false;
  int rounds = 0;
  base::TimePoint next{};
  base::Duration pause = 1s;
  base::Duration waited{};

  void refused(base::TimePoint now) {
    next = now + pause;
    waited += pause;
    pause = std::min<base::Duration>(2 * pause, 30s);
  }
};

class PollingTest : public StatesTest {
 protected:
  static constexpr base::Duration work = 2ms;

  void step(Contender& one) {
    now = std::max(now, one.next);
    if (one.holds) {
      one.id = unlock(use(one.client, one.id), {0, 9}).value();
      one.holds = false;
      ++one.rounds;
      one.next = now + work;
      return;
    }
    const auto got = lock(one.client, one.id, one.fresh ? std::optional<std::string_view>("l") : std::nullopt,
                          write_0_9, true);
    if (!got) return one.refused(now);
    one.id = got->id;
    one.fresh = false;
    one.holds = true;
    one.pause = 1s;
    one.next = now + work;
  }
};

TEST_F(PollingTest, two_clients_in_contention_do_not_wait_for_each_other_in_every_round) {
  constexpr int rounds = 30;
  std::array<Contender, 2> both{Contender(old, opened(old, "o", reads_and_writes)),
                                Contender(older, opened(older, "o", reads_and_writes))};
  base::TimePoint tick = now;
  const base::TimePoint began = now;
  for (both[0].next = both[1].next = now; both[0].rounds < rounds || both[1].rounds < rounds;) {
    Contender& first = both[1].rounds == rounds || (both[0].rounds < rounds && both[0].next <= both[1].next)
                           ? both[0]
                           : both[1];
    for (; tick < first.next; tick += 1s) states.tick(tick, tick, after);
    step(first);
  }
  EXPECT_LE(both[0].waited + both[1].waited, 3s);
  EXPECT_LE(now - began, 3s);
}

TEST_F(PollingTest, a_third_client_does_not_take_the_turn_of_one_that_polls) {
  const stateid4 held = lock(old, opened(old, "o", reads_and_writes), "l", write_0_9)->id;
  const stateid4 by_older = opened(older, "o", reads_and_writes);
  const stateid4 by_bob = opened(bob, "b", reads_and_writes);
  EXPECT_EQ(status_of(lock(older, by_older, "l", write_0_9, true)), NFS4ERR_DENIED);
  ASSERT_TRUE(unlock(use(old, held), {0, 9}));
  EXPECT_TRUE(after.turns.empty());
  EXPECT_EQ(status_of(lock(bob, by_bob, "third", write_0_9)), NFS4ERR_DENIED);
  EXPECT_EQ(status_of(lock(older, by_older, "l", write_0_9, true)), NFS4_OK);
}

// One owner of a client against another of the same: nobody has to wait for the network.
TEST_F(PollingTest, owners_of_one_client_are_served_in_their_order) {
  const stateid4 open_id = opened(old, "o", reads_and_writes);
  const stateid4 held = lock(old, open_id, "first", write_0_9)->id;
  EXPECT_EQ(status_of(lock(old, open_id, "second", write_0_9, true)), NFS4ERR_DENIED);
  ASSERT_TRUE(unlock(use(old, held), {0, 9}));
  EXPECT_EQ(status_of(lock(old, open_id, "third", write_0_9)), NFS4ERR_DENIED);
  EXPECT_EQ(status_of(lock(old, open_id, "second", write_0_9, true)), NFS4_OK);
}

}  // namespace
}  // namespace braid::nfs4::state::test
