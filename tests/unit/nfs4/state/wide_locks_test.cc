// One owner that has very many ranges, and locks over them, or has them taken back: in portions.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "opens_fixture.h"

namespace braid::nfs4::state::test {
namespace {

class WideLockTest : public StatesTest {
 protected:
  static constexpr std::size_t ranges = 3000;
  // Fewer portions than this would be longer ones; each takes up what those before it have left.
  static constexpr std::size_t portions_min = ranges / Locks::ranges_at_once;
  static constexpr std::uint64_t call_max = 3 * StepCounter::portion;
  static constexpr HeldRange all_to_write{{0, 4 * ranges - 1}, LockMode::write};
  static constexpr HeldRange all_to_read{{0, 4 * ranges - 1}, LockMode::read};

  static HeldRange nth(std::uint64_t number) { return {{4 * number, 4 * number + 1}, LockMode::write}; }
  static HeldRange behind_nth(std::uint64_t number, LockMode type = LockMode::write) {
    return {{4 * number + 2, 4 * number + 3}, type};
  }
  void SetUp() override {
    for (std::size_t i = 1; i < ranges; ++i) held = lock(alice, held, std::nullopt, nth(i))->id;
  }
  // Whether bob's owner would get it.
  [[nodiscard]] bool is_free(const HeldRange& wanted) const {
    return !states.locks().test(bob->id, "b", file_one, wanted);
  }
  LockAnswer claimed(const HeldRange& wanted) {
    const auto answer = lock(alice, held, std::nullopt, wanted);
    EXPECT_TRUE(answer);
    EXPECT_TRUE(answer->claimed);
    return *answer;
  }
  // `between` runs before each portion but the first.
  std::optional<stateid4> take(
      const LockAnswer& answer, const HeldRange& wanted, const std::function<void()>& between = [] {}) {
    for (portions = 1;; ++portions) {
      const auto taken = states.locks().take_some(answer, wanted, after);
      if (!taken) return std::nullopt;
      if (*taken) return **taken;
      EXPECT_LT(portions, ranges);
      between();
    }
  }
  std::vector<HeldRange> alices() {
    const StatePage page = states.list({.kind = StateKind::lock, .client = alice->id});
    return page.lines.empty() ? std::vector<HeldRange>() : page.lines[0].ranges;
  }
  std::size_t revoke_in_portions(const std::function<void()>& between = [] {}) {
    std::size_t calls = 1;
    states.revoke_client(alice->id);
    for (; states.leaving(); ++calls) {
      between();
      DeferredWork left = states.take_left();
      for (LockTurn& turn : left.turns) after.turns.push_back(std::move(turn));
    }
    return calls;
  }

  const stateid4 by_alice = opened(alice, "a", reads_and_writes);
  const stateid4 by_bob = opened(bob, "b", reads_and_writes);
  stateid4 held = lock(alice, by_alice, "all", nth(0))->id;
  std::size_t portions = 0;
};

TEST_F(WideLockTest, a_lock_over_them_replaces_them_in_portions) {
  const LockAnswer answer = claimed(all_to_write);
  const auto nothing_is_free = [&] {
    for (const std::uint64_t i : {std::uint64_t{0}, std::uint64_t{ranges / 2}, std::uint64_t{ranges - 1}}) {
      EXPECT_FALSE(is_free(nth(i)));
      EXPECT_FALSE(is_free(behind_nth(i))) << "it is decided";
    }
    EXPECT_EQ(states.test(held, *alice), NFS4_OK) << "one operation, one change of the stateid";
  };
  nothing_is_free();
  const auto taken = take(answer, all_to_write, nothing_is_free);
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->seqid, held.seqid + 1);
  EXPECT_GE(portions, portions_min);
  EXPECT_EQ(alices(), std::vector<HeldRange>{all_to_write});
  EXPECT_LE(states.longest_call(), call_max);
  EXPECT_TRUE(is_free({{4 * ranges, UINT64_MAX}, LockMode::write}));
}

TEST_F(WideLockTest, a_lock_over_few_of_them_is_taken_at_once) {
  const auto answer = lock(alice, held, std::nullopt, {{0, 4 * Locks::ranges_at_once - 1}, LockMode::write});
  EXPECT_FALSE(answer->claimed);
  EXPECT_EQ(alices()[0].range.last, 4 * Locks::ranges_at_once + 1) << "the next one joins it";
}

TEST_F(WideLockTest, what_the_file_system_refuses_is_as_it_was_at_once) {
  const LockAnswer answer = claimed(all_to_write);
  EXPECT_EQ(status_of(lock(bob, by_bob, "waits", behind_nth(7), true)), NFS4ERR_DENIED);
  undo(answer, all_to_write, false);
  ASSERT_EQ(after.turns.size(), 1U) << "who waited for a byte that was claimed is told";
  EXPECT_EQ(status_of(lock(bob, by_bob, "waits", behind_nth(7))), NFS4_OK);
  EXPECT_TRUE(is_free(behind_nth(ranges / 2)));
  EXPECT_FALSE(is_free(nth(ranges / 2)));
  EXPECT_EQ(alices()[0], nth(0));
  EXPECT_EQ(states.test(held, *alice), NFS4_OK) << "the stateid is the same";
  EXPECT_LE(states.longest_call(), call_max);
}

TEST_F(WideLockTest, readers_come_when_all_is_only_read) {
  EXPECT_EQ(status_of(lock(bob, by_bob, "reader", {{0, 4 * ranges}, LockMode::read}, true)), NFS4ERR_DENIED);
  const LockAnswer answer = claimed(all_to_read);
  const auto taken = take(answer, all_to_read, [&] {
    EXPECT_TRUE(after.turns.empty()) << "the rest is locked to be written";
    EXPECT_FALSE(is_free(behind_nth(ranges / 2))) << "nobody writes there from now on";
    EXPECT_TRUE(is_free(behind_nth(ranges / 2, LockMode::read)));
  });
  ASSERT_TRUE(taken);
  EXPECT_EQ(after.turns.size(), 1U);
  EXPECT_EQ(status_of(lock(bob, by_bob, "reader", {{0, 4 * ranges}, LockMode::read})), NFS4_OK);
}

TEST_F(WideLockTest, its_owner_waits_with_other_changes_and_others_do_not) {
  const LockAnswer answer = claimed(all_to_write);
  EXPECT_EQ(status_of(lock(alice, held, std::nullopt, nth(0))), NFS4ERR_DELAY);
  EXPECT_EQ(status_of(unlock(use(alice, held), nth(0).range)), NFS4ERR_DELAY);
  EXPECT_EQ(status_of(lock(bob, by_bob, "b", nth(ranges))), NFS4_OK);
  held = take(answer, all_to_write).value();
  EXPECT_EQ(status_of(unlock(use(alice, held), nth(0).range)), NFS4_OK);
}

TEST_F(WideLockTest, it_ends_with_its_open) {
  const LockAnswer answer = claimed(all_to_write);
  EXPECT_EQ(status_of(lock(bob, by_bob, "waits", {{4 * ranges - 1, 4 * ranges - 1}, LockMode::write}, true)),
            NFS4ERR_DENIED);
  ASSERT_FALSE(states.locks().take_some(answer, all_to_write, after).value());
  while (states.locks().end_some(use(alice, by_alice), after).value()) {
  }
  ASSERT_EQ(status_of(states.opens().close(use(alice, by_alice), after)), NFS4_OK);
  EXPECT_EQ(after.turns.size(), 1U) << "who waits for a byte that was only claimed";
  EXPECT_EQ(status_of(states.locks().take_some(answer, all_to_write, after)), NFS4ERR_BAD_STATEID);
  EXPECT_EQ(status_of(lock(bob, by_bob, "waits", all_to_write)), NFS4_OK);
  EXPECT_LE(states.longest_call(), call_max);
}

TEST_F(WideLockTest, it_ends_with_its_client) {
  const LockAnswer answer = claimed(all_to_write);
  ASSERT_FALSE(states.locks().take_some(answer, all_to_write, after).value());
  states.drop_client(alice->id);
  while (states.leaving()) (void)states.take_left();
  EXPECT_EQ(status_of(states.locks().take_some(answer, all_to_write, after)), NFS4ERR_BAD_STATEID);
  undo(answer, all_to_write, false);
  EXPECT_EQ(status_of(lock(bob, by_bob, "b", all_to_write)), NFS4_OK);
}

TEST_F(WideLockTest, a_file_has_few_of_them_at_once) {
  for (std::size_t owner = 0; owner <= Locks::claims_max; ++owner) {
    const std::uint64_t from = ranges + 1000 * (owner + 1);
    stateid4 id = lock(bob, by_bob, "o" + std::to_string(owner), nth(from))->id;
    for (std::uint64_t i = 1; i <= Locks::ranges_at_once; ++i)
      id = lock(bob, id, std::nullopt, nth(from + i))->id;
    const auto wide = lock(bob, id, std::nullopt, {{4 * from, 4 * from + 3999}, LockMode::write});
    EXPECT_EQ(status_of(wide), owner < Locks::claims_max ? NFS4_OK : NFS4ERR_DELAY);
  }
}

// --- By an administrator.

TEST_F(WideLockTest, they_are_taken_back_in_portions_after_their_stateid) {
  EXPECT_EQ(status_of(lock(bob, by_bob, "first", nth(0), true)), NFS4ERR_DENIED);
  EXPECT_EQ(status_of(lock(bob, by_bob, "last", nth(ranges - 1), true)), NFS4ERR_DENIED);
  const std::size_t calls = revoke_in_portions([&] {
    EXPECT_EQ(states.test(held, *alice), NFS4ERR_ADMIN_REVOKED);
    EXPECT_EQ(status_of(lock(alice, held, std::nullopt, nth(0))), NFS4ERR_ADMIN_REVOKED);
    EXPECT_EQ(io(alice, held, share_write), NFS4ERR_ADMIN_REVOKED) << "before others have what it locked";
    EXPECT_EQ(alice->status(), SEQ4_STATUS_ADMIN_STATE_REVOKED);
  });
  EXPECT_GE(calls, portions_min / 4);
  EXPECT_EQ(after.turns.size(), 2U);
  for (const char* owner : {"first", "last"})
    EXPECT_EQ(status_of(lock(bob, by_bob, owner, nth(owner[0] == 'f' ? 0 : ranges - 1))), NFS4_OK);
  EXPECT_EQ(status_of(states.free(held, *alice, after)), NFS4_OK);
  EXPECT_EQ(status_of(states.free(by_alice, *alice, after)), NFS4_OK);
  EXPECT_EQ(alice->status(), 0U);
  EXPECT_FALSE(states.holds_state(alice->id));
  EXPECT_LE(states.longest_call(), call_max);
}

TEST_F(WideLockTest, what_is_being_taken_back_is_freed_later) {
  states.revoke_client(alice->id);
  ASSERT_TRUE(states.leaving());
  std::size_t tries = 0;
  for (; status_of(states.free(held, *alice, after)) != NFS4_OK; ++tries) ASSERT_LT(tries, ranges);
  EXPECT_GT(tries, 0U);
  EXPECT_TRUE(is_free(all_to_write));
  while (states.leaving()) (void)states.take_left();
  EXPECT_EQ(states.test(held, *alice), NFS4ERR_BAD_STATEID);
  EXPECT_LE(states.longest_call(), call_max);
}

TEST_F(WideLockTest, its_owner_and_its_open_go_on_meanwhile) {
  states.revoke_client(alice->id);
  ASSERT_TRUE(states.leaving());
  EXPECT_EQ(status_of(lock(alice, by_alice, "all", nth(0))), NFS4ERR_DELAY) << "it still has some";
  EXPECT_EQ(status_of(states.opens().close(use(alice, by_alice), after)), NFS4_OK);
  EXPECT_TRUE(is_free(all_to_write));
  EXPECT_EQ(states.test(held, *alice), NFS4ERR_ADMIN_REVOKED) << "until it is freed";
  while (states.leaving()) (void)states.take_left();
  EXPECT_EQ(status_of(states.free(held, *alice, after)), NFS4_OK);
}

TEST_F(WideLockTest, an_open_is_closed_with_several_that_are_being_taken_back) {
  stateid4 more = lock(alice, by_alice, "more", nth(ranges))->id;
  for (std::uint64_t i = 1; i < 8 * Locks::ranges_at_once; ++i)
    more = lock(alice, more, std::nullopt, nth(ranges + i))->id;
  states.revoke_client(alice->id);
  ASSERT_TRUE(states.leaving());
  while (states.locks().end_some(use(alice, by_alice), after).value()) {
  }
  EXPECT_EQ(status_of(states.opens().close(use(alice, by_alice), after)), NFS4_OK);
  EXPECT_TRUE(is_free({whole_file, LockMode::write}));
  EXPECT_LE(states.longest_call(), call_max);
  while (states.leaving()) (void)states.take_left();
  EXPECT_EQ(status_of(states.free(more, *alice, after)), NFS4_OK);
}

TEST_F(WideLockTest, a_client_goes_of_which_something_is_being_taken_back) {
  states.revoke_client(alice->id);
  ASSERT_TRUE(states.leaving());
  states.drop_client(alice->id);
  while (states.leaving()) (void)states.take_left();
  EXPECT_FALSE(states.holds_state(alice->id));
  EXPECT_EQ(status_of(lock(bob, by_bob, "b", all_to_write)), NFS4_OK);
  EXPECT_LE(states.longest_call(), call_max);
}

TEST_F(WideLockTest, a_lock_that_is_being_noted_is_taken_back_too) {
  const LockAnswer answer = claimed(all_to_write);
  ASSERT_FALSE(states.locks().take_some(answer, all_to_write, after).value());
  revoke_in_portions();
  EXPECT_EQ(status_of(states.locks().take_some(answer, all_to_write, after)), NFS4ERR_BAD_STATEID);
  EXPECT_TRUE(is_free(all_to_write));
}

// --- Where there is no room for more.

class FullFileTest : public StatesTest {
 protected:
  static constexpr std::size_t ranges = 2 * Locks::ranges_at_once;
  static StateLimits few() {
    StateLimits limits;
    limits.lock_ranges_per_file = ranges;
    return limits;
  }
  FullFileTest() : StatesTest(few()) {}
};

TEST_F(FullFileTest, a_lock_that_leaves_fewer_needs_no_room) {
  stateid4 id = lock(alice, opened(alice, "a", reads_and_writes), "all", {{0, 0}, LockMode::write})->id;
  for (std::uint64_t i = 1; i + 1 < ranges; ++i)
    id = lock(alice, id, std::nullopt, {{2 * i, 2 * i}, LockMode::write})->id;
  EXPECT_EQ(status_of(lock(alice, id, std::nullopt, {{2 * ranges, 2 * ranges}, LockMode::write})),
            NFS4ERR_DELAY);
  EXPECT_EQ(status_of(lock(alice, id, std::nullopt, {whole_file, LockMode::write})), NFS4_OK);
}

}  // namespace
}  // namespace braid::nfs4::state::test
