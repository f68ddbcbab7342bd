// What the clients of one address may have of all state.
#include <cstdint>
#include <string>

#include "opens_fixture.h"

namespace braid::nfs4::state::test {
namespace {

// Of what all have together, each address gets as much as twice what it leaves.
class SharesTest : public StatesTest {
 protected:
  SharesTest()
      : StatesTest({.states_max = 96, .owners_max = 96, .lock_ranges_max = 96, .delegations_max = 64}) {}
  // How many files the client can open, by one owner or by one for each.
  std::size_t open_all(const ClientRef& client, bool one_owner) {
    std::size_t count = 0;
    for (std::uint8_t file = 1; file < 200; ++file) {
      const std::string owner = one_owner ? "o" : std::to_string(file);
      count += open(client, owner, reads, handle(file)).has_value() ? 1U : 0U;
    }
    return count;
  }
  const ClientRef one = make_client(11, 1, 1);
  const ClientRef neighbour = make_client(12, 1, 1);
  const ClientRef far = make_client(13, 1, 2);
};

TEST_F(SharesTest, clients_of_one_address_share_what_it_may_have_of_all_states) {
  EXPECT_EQ(open_all(one, true), 32U);
  EXPECT_EQ(states.refused(), 167U);
  EXPECT_EQ(open_all(neighbour, true), 0U);
  EXPECT_EQ(status_of(states.opens().admit_one_more(*neighbour, "o")), NFS4ERR_DELAY);
  EXPECT_GE(open_all(far, true), 16U) << "there is room for others";
}

// Two were admitted, and both have made their files.
TEST_F(SharesTest, an_open_whose_file_was_made_for_it_is_not_refused) {
  open_all(one, false);
  EXPECT_FALSE(states.opens().admit_one_more(*one, "another"));
  OpenRequest request{.client = one,
                      .minor_version = 1,
                      .owner = "another",
                      .file = handle(250),
                      .share = reads,
                      .opener = {},
                      .descriptor = {}};
  EXPECT_FALSE(states.opens().open(request, after));
  request.made = true;
  EXPECT_TRUE(states.opens().open(request, after));
}

TEST_F(SharesTest, what_an_address_gives_back_it_may_have_again) {
  const stateid4 first = opened(one, "o", reads, handle(250));
  EXPECT_EQ(open_all(one, true), 31U);
  ASSERT_TRUE(states.opens().close(use(one, first, handle(250)), after));
  EXPECT_EQ(status_of(open(neighbour, "o", reads, handle(250))), NFS4_OK);
  states.drop_client(one->id);
  while (states.leaving()) after = states.take_left();
  states.drop_client(neighbour->id);
  while (states.leaving()) after = states.take_left();
  EXPECT_EQ(states.size(), 0U);
  EXPECT_EQ(open_all(neighbour, true), 32U);
}

TEST_F(SharesTest, clients_of_one_address_share_what_it_may_have_of_all_owners) {
  EXPECT_EQ(open_all(one, false), 32U);
  EXPECT_EQ(open_all(neighbour, false), 0U);
  EXPECT_GE(open_all(far, false), 16U);
}

TEST_F(SharesTest, clients_of_one_address_share_what_it_may_have_of_all_locked_ranges) {
  const auto lock_all = [&](const ClientRef& client) {
    const stateid4 open = opened(client, "o", reads);
    auto last = lock(client, open, "l", {{0, 0}, LockMode::read});
    std::size_t count = 0;
    for (std::uint64_t at = 2; last && at < 200; at += 2, ++count)
      last = lock(client, last->id, std::nullopt, {{at, at}, LockMode::read});
    return count;
  };
  EXPECT_EQ(lock_all(one), 32U);
  EXPECT_EQ(lock_all(neighbour), 0U);
  EXPECT_GE(lock_all(far), 16U) << "there is room for others";
  EXPECT_GT(states.locks().refused_full(), 0U);
  states.drop_client(one->id);
  while (states.leaving()) after = states.take_left();
  EXPECT_GE(lock_all(neighbour), 16U);
}

}  // namespace
}  // namespace braid::nfs4::state::test
