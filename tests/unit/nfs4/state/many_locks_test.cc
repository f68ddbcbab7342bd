// Many locks, owners and waiters: what a call looks at is bounded, and what goes at once goes in portions.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "opens_fixture.h"

namespace braid::nfs4::state::test {
namespace {

constexpr HeldRange all_of_it{{0, UINT64_MAX}, LockMode::write};
HeldRange place(std::uint64_t number) { return {{4 * number, 4 * number + 1}, LockMode::write}; }

class ManyLocksTest : public StatesTest {
 protected:
  static constexpr std::size_t owners = 5000;
  static constexpr std::size_t waiters = 120;
  // A look at each waiter, each of which takes a way through the index; or a portion, and the last step of
  // it.
  static constexpr std::uint64_t call_max = 3 * StepCounter::portion;

  void SetUp() override {
    for (std::size_t i = 0; i < owners; ++i) {
      locked.push_back(lock(alice, by_alice, name(i), place(i))->id);
      ASSERT_NE(locked.back(), stateid4{});
    }
  }
  static std::string name(std::size_t number) { return std::to_string(number); }
  void let_wait(const HeldRange& wanted = all_of_it) {
    for (std::size_t i = 0; i < waiters; ++i)
      ASSERT_EQ(status_of(lock(bob, by_bob, "w" + name(i), wanted, true)), NFS4ERR_DENIED);
  }
  // How many portions it takes until all of a client is gone.
  std::size_t take_all_left() {
    std::size_t portions = 0;
    for (bool more = true; more; ++portions) {
      DeferredWork left = states.take_left();
      released += left.released.size();
      for (LockTurn& turn : left.turns) after.turns.push_back(std::move(turn));
      more = states.leaving();
    }
    return portions;
  }
  void expect_short_calls() { EXPECT_LE(states.longest_call(), call_max); }

  stateid4 by_alice = opened(alice, "a", reads_and_writes);
  stateid4 by_bob = opened(bob, "b", reads_and_writes);
  std::vector<stateid4> locked;
  std::size_t released = 0;
};

TEST_F(ManyLocksTest, a_call_looks_at_few_of_them) {
  let_wait();
  for (std::size_t i = 0; i < 200; ++i) {
    EXPECT_TRUE(states.locks().test(bob->id, "b", file_one, place(owners - 1)));
    locked[i] = unlock(use(alice, locked[i]), place(i).range).value();
    locked[i] = lock(alice, locked[i], std::nullopt, place(i))->id;
  }
  EXPECT_TRUE(after.turns.empty());
  expect_short_calls();
}

TEST_F(ManyLocksTest, seconds_pass_without_a_look_at_who_waits) {
  let_wait();
  const std::uint64_t before = states.longest_call();
  for (int second = 0; second < 30; ++second) states.tick(now, now += 1s, after);
  EXPECT_EQ(states.longest_call(), before);
  EXPECT_TRUE(after.turns.empty());
}

TEST_F(ManyLocksTest, a_client_with_all_of_them_goes_in_portions) {
  let_wait();
  states.drop_client(alice->id);
  EXPECT_TRUE(states.holds_state(alice->id));
  EXPECT_GE(take_all_left(), owners / Locks::states_at_once - 1);
  EXPECT_FALSE(states.holds_state(alice->id));
  EXPECT_EQ(io(alice, locked.back(), share_read), NFS4ERR_EXPIRED);
  EXPECT_EQ(released, owners) << "the file system is told of each";
  ASSERT_EQ(after.turns.size(), 1U);
  EXPECT_EQ(after.turns[0].owner, "w0");
  expect_short_calls();
}

TEST_F(ManyLocksTest, who_waits_for_one_of_them_is_told_when_that_is_free) {
  let_wait(place(owners / 2));
  states.drop_client(alice->id);
  take_all_left();
  ASSERT_EQ(after.turns.size(), 1U);
  EXPECT_EQ(after.turns[0].owner, "w0");
  expect_short_calls();
}

TEST_F(ManyLocksTest, they_are_taken_back_in_portions) {
  states.revoke_client(alice->id);
  const stateid4 meanwhile = opened(alice, "new", reads_and_writes, handle(2));
  take_all_left();
  EXPECT_EQ(states.test(locked.front(), *alice), NFS4ERR_ADMIN_REVOKED);
  EXPECT_EQ(states.test(locked.back(), *alice), NFS4ERR_ADMIN_REVOKED);
  EXPECT_EQ(states.test(by_alice, *alice), NFS4ERR_ADMIN_REVOKED);
  EXPECT_EQ(states.test(meanwhile, *alice), NFS4_OK) << "it came after";
  EXPECT_EQ(status_of(lock(bob, by_bob, "b", all_of_it)), NFS4_OK);
  expect_short_calls();
  for (const stateid4& id : locked) ASSERT_EQ(status_of(states.free(id, *alice, after)), NFS4_OK);
  EXPECT_EQ(status_of(states.free(by_alice, *alice, after)), NFS4_OK);
  EXPECT_EQ(alice->status(), 0U);
}

TEST_F(ManyLocksTest, they_end_in_portions_before_their_file_is_closed) {
  let_wait();
  std::size_t portions = 1;
  for (; states.locks().end_some(use(alice, by_alice), after).value(); ++portions)
    ASSERT_LT(portions, owners);
  EXPECT_GE(portions, owners / Locks::states_at_once - 1);
  EXPECT_EQ(status_of(states.opens().close(use(alice, by_alice), after)), NFS4_OK);
  EXPECT_EQ(states.size(), 1U);
  EXPECT_EQ(after.turns.size(), 1U);
  expect_short_calls();
}

TEST_F(ManyLocksTest, a_file_with_few_is_closed_at_once) {
  EXPECT_FALSE(states.locks().end_some(use(bob, by_bob), after).value());
  EXPECT_EQ(status_of(states.locks().end_some(use(bob, by_alice), after)), NFS4ERR_BAD_STATEID);
}

TEST_F(ManyLocksTest, opens_of_one_file_go_in_portions) {
  for (std::size_t i = 0; i < owners; ++i) opened(bob, "o" + name(i), reads);
  states.drop_client(bob->id);
  EXPECT_GE(take_all_left(), owners / Locks::states_at_once - 1);
  EXPECT_EQ(states.size(), owners + 1) << "alice's";
  EXPECT_EQ(status_of(open(alice, "deny", {share_read, share_both})), NFS4ERR_SHARE_DENIED) << "her own";
  expect_short_calls();
}

// A 4.0 owner may have locked something in many files.
TEST_F(ManyLocksTest, an_owner_is_released_in_portions) {
  std::uint32_t seqid = 0;
  for (std::uint8_t i = 0; i < 200; ++i) {
    for (const std::uint8_t more : {std::uint8_t{1}, std::uint8_t{2}}) {
      vfs::FileHandle file = handle(i);
      file.bytes[1] = std::byte{more};
      StateUse whose = use(old, opened(old, "o", reads_and_writes, file), file);
      const auto got = states.locks().lock(
          {.use = whose, .new_owner = "l", .new_owner_seqid = seqid++, .wanted = place(0)}, after);
      ASSERT_TRUE(got);
      whose.id = got->id;
      ASSERT_TRUE(unlock(whose, whole_file));
    }
  }
  EXPECT_EQ(states.locks().release_owner(old->id, "l", after), true);
  EXPECT_EQ(states.locks().release_owner(old->id, "l", after), false);
  EXPECT_EQ(states.locks().owner_id(old->id, "l"), std::nullopt);
  expect_short_calls();
}

TEST_F(ManyLocksTest, owners_that_nobody_uses_are_forgotten_in_portions) {
  for (std::size_t i = 0; i < owners; ++i) {
    const stateid4 id = opened(old, "o" + name(i), reads);
    ASSERT_TRUE(states.opens().close(use(old, id), after));
  }
  now += 60s;
  EXPECT_TRUE(states.tick(now, now, after));
  std::size_t portions = 0;
  for (; states.tidy(now, now, after); ++portions) ASSERT_LT(portions, owners);
  EXPECT_EQ(states.size(), owners + 2) << "4.0 keeps the last open of an owner until then";
  expect_short_calls();
}

// --- One owner that has all of them.

class OneOwnerTest : public StatesTest {
 protected:
  static constexpr std::size_t ranges = 5000;
  // A portion, the last step of one, and who waits for what that has freed.
  static constexpr std::uint64_t call_max = 3 * StepCounter::portion;

  void SetUp() override {
    for (std::size_t i = 1; i < ranges; ++i) held = lock(alice, held, std::nullopt, place(i))->id;
    EXPECT_EQ(status_of(lock(bob, by_bob, "first", place(0), true)), NFS4ERR_DENIED);
    EXPECT_EQ(status_of(lock(bob, by_bob, "last", place(ranges - 1), true)), NFS4ERR_DENIED);
  }
  [[nodiscard]] std::vector<std::string> told() const {
    std::vector<std::string> owners;
    for (const LockTurn& turn : after.turns) owners.push_back(turn.owner);
    return owners;
  }
  void expect_all_gone_in_portions(std::size_t portions) {
    EXPECT_GE(portions, ranges / Locks::ranges_at_once / 4);
    EXPECT_EQ(told(), (std::vector<std::string>{"first", "last"}));
    for (const char* owner : {"first", "last"})
      EXPECT_EQ(status_of(lock(bob, by_bob, owner, place(owner[0] == 'f' ? 0 : ranges - 1))), NFS4_OK);
    EXPECT_EQ(status_of(lock(bob, by_bob, "all of it", {{4, 4 * ranges - 5}, LockMode::write})), NFS4_OK);
    EXPECT_LE(states.longest_call(), call_max);
  }

  const stateid4 by_alice = opened(alice, "a", reads_and_writes);
  const stateid4 by_bob = opened(bob, "b", reads_and_writes);
  stateid4 held = lock(alice, by_alice, "all", place(0))->id;
};

TEST_F(OneOwnerTest, it_unlocks_in_portions) {
  ByteRange left = whole_file;
  std::size_t portions = 1;
  for (;; ++portions) {
    const auto unlocked = states.locks().unlock(use(alice, held), left, after).value();
    if (unlocked) {
      EXPECT_EQ(unlocked->seqid, held.seqid + 1) << "one operation, one change of the stateid";
      break;
    }
    ASSERT_LT(portions, ranges);
    EXPECT_EQ(told(), std::vector<std::string>{"first"}) << "what is unlocked is free at once";
    EXPECT_EQ(status_of(lock(bob, by_bob, "next", place(ranges - 1))), NFS4ERR_DENIED);
  }
  ASSERT_EQ(after.released.size(), portions) << "the file system is told of each";
  std::uint64_t from = 0;
  for (const ReleasedRange& part : after.released) {
    EXPECT_EQ(part.range.offset, from) << "no byte is left out";
    from += part.range.length;
  }
  EXPECT_EQ(after.released.back().range.length, vfs::LockRange::to_end);
  expect_all_gone_in_portions(portions);
}

TEST_F(OneOwnerTest, what_lies_in_one_range_is_unlocked_at_once) {
  ByteRange left = place(ranges / 2).range;
  EXPECT_TRUE(states.locks().unlock(use(alice, held), left, after).value());
  EXPECT_LE(states.longest_call(), call_max);
}

TEST_F(OneOwnerTest, a_portion_after_the_stateid_is_gone_is_refused) {
  ByteRange left = whole_file;
  ASSERT_FALSE(states.locks().unlock(use(alice, held), left, after).value());
  states.drop_client(alice->id);
  while (states.leaving()) (void)states.take_left();
  EXPECT_EQ(status_of(states.locks().unlock(use(alice, held), left, after)), NFS4ERR_EXPIRED);
}

TEST_F(OneOwnerTest, its_ranges_end_in_portions_before_their_file_is_closed) {
  std::size_t portions = 1;
  for (; states.locks().end_some(use(alice, by_alice), after).value(); ++portions)
    ASSERT_LT(portions, ranges);
  EXPECT_EQ(status_of(states.opens().close(use(alice, by_alice), after)), NFS4_OK);
  expect_all_gone_in_portions(portions);
  EXPECT_EQ(after.released.front().range.offset, 0U);
  EXPECT_EQ(after.released.back().range.length, vfs::LockRange::to_end);
}

TEST_F(OneOwnerTest, so_do_those_of_some_owners_together) {
  for (std::size_t i = 0; i < 40; ++i) {
    const std::string owner = "o" + std::to_string(i);
    stateid4 id = lock(bob, by_bob, owner, place(ranges + 200 * i))->id;
    for (std::size_t k = 1; k < Locks::ranges_at_once; ++k)
      id = lock(bob, id, std::nullopt, place(ranges + 200 * i + k))->id;
  }
  std::size_t portions = 1;
  for (; states.locks().end_some(use(bob, by_bob), after).value(); ++portions) ASSERT_LT(portions, ranges);
  EXPECT_GE(portions, 40U / 4);
  EXPECT_EQ(status_of(states.opens().close(use(bob, by_bob), after)), NFS4_OK);
  EXPECT_LE(states.longest_call(), call_max);
}

TEST_F(OneOwnerTest, a_client_with_it_goes_in_portions) {
  states.drop_client(alice->id);
  std::size_t portions = 1;
  for (bool more = true; more; ++portions) {
    DeferredWork left = states.take_left();
    for (LockTurn& turn : left.turns) after.turns.push_back(std::move(turn));
    more = states.leaving();
  }
  EXPECT_FALSE(states.holds_state(alice->id));
  expect_all_gone_in_portions(portions);
}

// --- Limits.

class LockLimitsTest : public StatesTest {
 protected:
  static StateLimits few() {
    StateLimits limits;
    limits.lock_ranges_per_file = 8;
    limits.lock_waits_per_client = 3;
    limits.lock_waits_max = 4;
    return limits;
  }
  LockLimitsTest() : StatesTest(few()) {}
};

TEST_F(LockLimitsTest, a_file_has_no_more_locks_than_it_may) {
  const stateid4 by_alice = opened(alice, "a", reads_and_writes);
  const stateid4 by_old = opened(old, "o", reads_and_writes);
  std::vector<stateid4> locked;
  for (std::uint64_t i = 0; i < 7; ++i)
    locked.push_back(lock(alice, by_alice, std::to_string(i), place(i))->id);
  EXPECT_EQ(status_of(lock(alice, by_alice, "more", place(7))), NFS4ERR_DELAY);
  EXPECT_EQ(status_of(lock(old, by_old, "more", place(7))), NFS4ERR_RESOURCE);
  EXPECT_EQ(states.locks().refused_full(), 2U);
  EXPECT_EQ(status_of(lock(alice, by_alice, "0", place(7))), NFS4ERR_DELAY) << "whoever has some already";
  ASSERT_TRUE(unlock(use(alice, locked[0]), whole_file));
  EXPECT_EQ(status_of(lock(old, by_old, "more", place(7))), NFS4_OK);
  EXPECT_EQ(status_of(lock(alice, opened(alice, "a", reads_and_writes, handle(2)), "a", place(0))),
            NFS4ERR_BAD_STATEID)
      << "of another file";
}

TEST_F(LockLimitsTest, unlocking_the_middle_needs_room) {
  const stateid4 by_alice = opened(alice, "a", reads_and_writes);
  const stateid4 wide = lock(alice, by_alice, "wide", {{100, 199}, LockMode::write})->id;
  std::vector<stateid4> locked;
  for (std::uint64_t i = 0; i < 6; ++i)
    locked.push_back(lock(alice, by_alice, std::to_string(i), place(i))->id);
  const stateid4 split = unlock(use(alice, wide), {150, 150}).value();
  EXPECT_EQ(status_of(unlock(use(alice, split), {120, 120})), NFS4ERR_DELAY);
  EXPECT_EQ(status_of(unlock(use(alice, split), {190, 199})), NFS4_OK);
}

// Whoever has no place asks again, and takes what it finds free.
TEST_F(LockLimitsTest, places_of_those_who_wait_are_counted) {
  const stateid4 by_alice = opened(alice, "a", reads_and_writes);
  const stateid4 by_bob = opened(bob, "b", reads_and_writes);
  const stateid4 by_old = opened(old, "o", reads_and_writes);
  const stateid4 held = lock(alice, by_alice, "holder", place(0))->id;
  for (const char* owner : {"1", "2", "3", "4"})
    EXPECT_EQ(status_of(lock(bob, by_bob, owner, place(0), true)), NFS4ERR_DENIED);
  for (const char* owner : {"5", "6"})
    EXPECT_EQ(status_of(lock(old, by_old, owner, place(0), true)), NFS4ERR_DENIED);
  // Three of bob's and one more have a place; their turns come and go.
  ASSERT_TRUE(unlock(use(alice, held), whole_file));
  for (int second = 0; second < 10; ++second) states.tick(now, now += 1s, after);
  ASSERT_EQ(after.turns.size(), 3U) << "the fourth is of 4.0, and polls";
  EXPECT_EQ(after.turns[2].owner, "3");
  EXPECT_EQ(status_of(lock(bob, by_bob, "4", place(0), true)), NFS4_OK) << "nobody waits any more";
}

TEST_F(LockLimitsTest, a_place_that_is_left_is_anothers) {
  const stateid4 by_alice = opened(alice, "a", reads_and_writes);
  const stateid4 held = lock(alice, by_alice, "holder", place(0))->id;
  for (int round = 0; round < 5; ++round) {
    const ClientRef client = make_client(static_cast<std::uint32_t>(10 + round), 1);
    const stateid4 id = opened(client, "b", reads_and_writes);
    for (const char* owner : {"1", "2", "3"})
      EXPECT_EQ(status_of(lock(client, id, owner, place(0), true)), NFS4ERR_DENIED);
    states.drop_client(client->id);
    (void)states.take_left();
  }
  const stateid4 by_bob = opened(bob, "b", reads_and_writes);
  EXPECT_EQ(status_of(lock(bob, by_bob, "1", place(0), true)), NFS4ERR_DENIED);
  ASSERT_TRUE(unlock(use(alice, held), whole_file));
  EXPECT_EQ(after.turns.size(), 1U);
}

class LockPlacesTest : public StatesTest {
 protected:
  LockPlacesTest() : StatesTest({.lock_waits_max = 20}) {}
};

TEST_F(LockPlacesTest, an_address_leaves_places_to_others) {
  const stateid4 held = lock(alice, opened(alice, "a", reads_and_writes), "holder", place(0))->id;
  const ClientRef crowd = make_client(10, 1, 1);
  const stateid4 by_crowd = opened(crowd, "c", reads_and_writes);
  for (int owner = 0; owner < 30; ++owner)
    EXPECT_EQ(status_of(lock(crowd, by_crowd, std::to_string(owner), place(0), true)), NFS4ERR_DENIED);
  EXPECT_EQ(status_of(lock(bob, opened(bob, "b", reads_and_writes), "1", place(0), true)), NFS4ERR_DENIED);
  states.drop_client(crowd->id);
  while (states.leaving()) (void)states.take_left();
  ASSERT_TRUE(unlock(use(alice, held), whole_file));
  EXPECT_EQ(after.turns.size(), 1U) << "of bob, who had a place";
}

// --- By change: nobody looks at who waits but when something is freed.

using LockChangesTest = StatesTest;

TEST_F(LockChangesTest, who_waits_to_read_is_told_when_a_writer_becomes_a_reader) {
  const stateid4 by_alice = opened(alice, "a", reads_and_writes);
  const stateid4 held = lock(alice, by_alice, "holder", write_0_9)->id;
  const stateid4 by_bob = opened(bob, "b", reads_and_writes);
  EXPECT_EQ(status_of(lock(bob, by_bob, "reader", read_0_9, true)), NFS4ERR_DENIED);
  EXPECT_EQ(status_of(lock(alice, held, std::nullopt, read_0_9)), NFS4_OK);
  EXPECT_EQ(after.turns.size(), 1U);
}

// Whoever has just unlocked may take the range again before one that polls, whose turn is over when it finds
// out.
TEST_F(LockChangesTest, who_waits_behind_a_turn_that_could_not_be_used_is_told) {
  const stateid4 by_old = opened(old, "o", reads_and_writes);
  const stateid4 by_older = opened(older, "o", reads_and_writes);
  const HeldRange both{{0, 19}, LockMode::write};
  const stateid4 held = lock(old, by_old, "l", write_0_9)->id;
  EXPECT_EQ(status_of(lock(older, by_older, "polls", both, true)), NFS4ERR_DENIED);
  const stateid4 left = unlock(use(old, held), {0, 9}).value();
  EXPECT_EQ(
      status_of(lock(alice, opened(alice, "a", reads_and_writes), "told", {{15, 19}, LockMode::write}, true)),
      NFS4ERR_DENIED);
  EXPECT_EQ(status_of(lock(old, left, std::nullopt, {{0, 3}, LockMode::write})), NFS4_OK);
  EXPECT_TRUE(after.turns.empty());
  EXPECT_EQ(status_of(lock(older, by_older, "polls", both, true)), NFS4ERR_DENIED);
  ASSERT_EQ(after.turns.size(), 1U);
  EXPECT_EQ(after.turns[0].owner, "told");
}

}  // namespace
}  // namespace braid::nfs4::state::test
