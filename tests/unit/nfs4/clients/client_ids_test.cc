#include "nfs4/state/clients/client_ids.h"

#include <gtest/gtest.h>

#include <set>

namespace braid::nfs4::state {
namespace {

constexpr std::uint32_t epoch = 5;
constexpr base::SipKey key{11, 12};

TEST(ClientIds, no_two_are_equal_and_each_is_of_one_kind_and_of_its_run) {
  ClientIds ids(epoch, key);
  std::set<clientid4> seen;
  for (int i = 0; i < 20'000; ++i) {
    const ClientKind kind = i % 3 == 0 ? ClientKind::v4_0 : ClientKind::sessions;
    const ClientKind other = i % 3 == 0 ? ClientKind::sessions : ClientKind::v4_0;
    const clientid4 id = ids.next(kind);
    EXPECT_TRUE(seen.insert(id).second);
    EXPECT_EQ(epoch_of(id), epoch);
    EXPECT_TRUE(ids.given(id, kind));
    EXPECT_FALSE(ids.given(id, other));
    EXPECT_FALSE(ids.given(id + (clientid4{1} << 32), kind));
  }
}

TEST(ClientIds, those_that_will_come_are_not_given_yet) {
  ClientIds ahead(epoch, key);
  ClientIds ids(epoch, key);
  for (int i = 0; i < 100; ++i) {
    const clientid4 id = ahead.next(ClientKind::sessions);
    EXPECT_FALSE(ids.given(id, ClientKind::sessions));
    EXPECT_EQ(ids.next(ClientKind::sessions), id);
    EXPECT_TRUE(ids.given(id, ClientKind::sessions));
  }
  EXPECT_FALSE(ids.given(0, ClientKind::v4_0));
}

// Whoever has some of them knows nothing of the others: they are spread over all numbers, and no step between
// two comes twice.
TEST(ClientIds, of_others_cannot_be_told_from_own_ones) {
  ClientIds ids(epoch, key);
  ClientIds others(epoch, {11, 13});
  std::set<std::uint32_t> steps;
  std::set<std::uint32_t> upper_bytes;
  std::uint32_t before = 0;
  constexpr int count = 2000;
  for (int i = 0; i < count; ++i) {
    const clientid4 id = ids.next(ClientKind::v4_0);
    EXPECT_NE(id, others.next(ClientKind::v4_0));
    steps.insert(static_cast<std::uint32_t>(id) - before);
    before = static_cast<std::uint32_t>(id);
    upper_bytes.insert(before >> 24);
  }
  EXPECT_EQ(steps.size(), std::size_t{count});
  EXPECT_GT(upper_bytes.size(), 240U);
}

}  // namespace
}  // namespace braid::nfs4::state
