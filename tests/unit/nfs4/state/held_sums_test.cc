// Numbers for what clients of 4.0 hold: the same holdings have the same, others have others.
#include "nfs4/state/held_sums.h"

#include <set>

#include "opens_fixture.h"

namespace braid::nfs4::state::test {
namespace {

class HeldSumsTest : public StatesTest {
 protected:
  [[nodiscard]] std::optional<Held> held(const ClientRef& client) const {
    HeldSums sums;
    while (sums.look(states)) continue;
    return sums.of(client->id);
  }
  std::uint64_t sum_of(const ClientRef& client) const { return held(client).value_or(Held{}).sum; }
  std::uint64_t locked(const ClientRef& client, const HeldRange& range) {
    const stateid4 id = opened(client, "owner", reads_and_writes);
    EXPECT_TRUE(lock(client, id, "locker", range));
    return sum_of(client);
  }
  // All that a client has goes.
  void drop(const ClientRef& client) {
    states.drop_client(client->id);
    after = states.take_left();
    after = {};
  }
};

TEST_F(HeldSumsTest, the_same_in_another_order_has_the_same_sum) {
  opened(old, "one", reads);
  const stateid4 second = opened(old, "two", reads_and_writes);
  ASSERT_TRUE(lock(old, second, "locker", write_0_9));
  const auto before = held(old);
  ASSERT_TRUE(before);
  EXPECT_EQ(before->states, 3U);
  drop(old);
  EXPECT_EQ(held(old), Held{}) << "nothing";
  const stateid4 again = opened(old, "two", reads_and_writes);
  EXPECT_NE(held(old), before);
  opened(old, "one", reads);
  EXPECT_NE(held(old), before) << "the lock is missing";
  ASSERT_TRUE(lock(old, again, "locker", write_0_9));
  EXPECT_EQ(held(old), before);
}

TEST_F(HeldSumsTest, whatever_a_client_would_name_makes_a_difference) {
  std::set<std::uint64_t> sums;
  std::size_t count = 0;
  const auto add = [&](std::uint64_t sum) {
    sums.insert(sum);
    EXPECT_EQ(sums.size(), ++count);
    drop(old);
  };
  const auto with = [&](std::string_view owner, const Share& share, const vfs::FileHandle& file) {
    opened(old, owner, share, file);
    return sum_of(old);
  };
  add(with("owner", reads_and_writes, handle(1)));
  add(with("owner", reads_and_writes, handle(2)));
  add(with("another", reads_and_writes, handle(1)));
  add(with("owner", reads, handle(1)));
  add(with("owner", {.access = share_both, .deny = share_write}, handle(1)));
  // A client reclaims each way in which it has opened a file.
  opened(old, "owner", reads_and_writes);
  add(with("owner", reads, handle(1)));
  add(locked(old, write_0_9));
  add(locked(old, read_0_9));
  add(locked(old, {{0, 8}, LockMode::write}));
  add(locked(old, {{1, 9}, LockMode::write}));
}

TEST_F(HeldSumsTest, a_lock_owner_that_has_unlocked_all_holds_nothing) {
  const stateid4 id = opened(old, "owner", reads_and_writes);
  const auto before = held(old);
  const auto answer = lock(old, id, "locker", write_0_9);
  ASSERT_TRUE(answer);
  EXPECT_NE(held(old), before);
  ASSERT_TRUE(unlock(use(old, answer->id), write_0_9.range));
  EXPECT_EQ(held(old), before);
}

TEST_F(HeldSumsTest, of_more_ranges_than_are_listed_nothing_is_said) {
  const stateid4 id = opened(old, "owner", reads_and_writes);
  auto answer = lock(old, id, "locker", write_0_9);
  ASSERT_TRUE(answer);
  for (std::uint64_t i = 1; i < StateLine::ranges_max; ++i) {
    answer = lock(old, answer->id, std::nullopt, {{i * 100, i * 100 + 9}, LockMode::write});
    ASSERT_TRUE(answer);
  }
  EXPECT_TRUE(held(old));
  ASSERT_TRUE(lock(old, answer->id, std::nullopt, {{5000, 5009}, LockMode::write}));
  EXPECT_FALSE(held(old));
}

TEST_F(HeldSumsTest, of_who_may_have_opened_files_without_telling_nothing_is_said) {
  opened(old, "owner", reads, handle(2));
  ASSERT_TRUE(held(old));
  const auto answer = open(old, "owner", reads, handle(1), DelegationWish::any);
  ASSERT_TRUE(answer && answer->delegation);
  DelegationRequest request;
  request.type = *answer->delegation;
  request.now = now;
  const auto delegation = states.delegations().give(*answer, request);
  ASSERT_TRUE(delegation);
  EXPECT_FALSE(held(old));
  EXPECT_EQ(status_of(states.delegations().give_back(use(old, *delegation), after)), NFS4_OK);
  EXPECT_TRUE(held(old));
}

TEST_F(HeldSumsTest, other_clients_do_not_count) {
  opened(old, "owner", reads);
  const auto before = held(old);
  opened(older, "owner", reads);
  opened(alice, "owner", reads);
  EXPECT_EQ(held(old), before);
  EXPECT_EQ(held(older), before) << "the same, by another client";
  EXPECT_EQ(held(alice), Held{}) << "it says itself when it is done";
}

TEST_F(HeldSumsTest, all_states_are_looked_at_however_many_there_are) {
  constexpr std::uint32_t many = 1000;
  for (std::uint32_t i = 0; i < many; ++i) opened(old, std::to_string(i), reads);
  ASSERT_TRUE(held(old));
  EXPECT_EQ(held(old)->states, many);
}

}  // namespace
}  // namespace braid::nfs4::state::test
