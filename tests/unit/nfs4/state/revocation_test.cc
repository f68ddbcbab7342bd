// What an administrator sees of opens, locks and delegations, and takes back.
#include <set>
#include <string>
#include <vector>

#include "opens_fixture.h"

namespace braid::nfs4::state::test {
namespace {

constexpr HeldRange whole{{0, UINT64_MAX}, LockMode::write};

StateQuery of(std::optional<StateKind> kind, std::optional<clientid4> client = std::nullopt) {
  return {.kind = kind, .client = client};
}
StateQuery from(std::uint32_t place, std::size_t lines_max) {
  return {.kind = std::nullopt, .client = std::nullopt, .from = place, .lines_max = lines_max};
}

class RevocationTest : public StatesTest {
 protected:
  nfsstat4 freed(const stateid4& id) { return status_of(states.free(id, *alice, after)); }
};

TEST_F(RevocationTest, what_is_revoked_keeps_nobody_out_and_stays_to_be_freed) {
  const stateid4 opened_id = opened(alice, "o", {share_both, share_both});
  const auto locked = lock(alice, opened_id, "l", whole);
  ASSERT_TRUE(locked);
  ASSERT_EQ(status_of(open(bob, "b", reads)), NFS4ERR_SHARE_DENIED);
  states.revoke_client(alice->id);

  EXPECT_EQ(io(alice, opened_id, share_read), NFS4ERR_ADMIN_REVOKED);
  EXPECT_EQ(io(alice, locked->id, share_read), NFS4ERR_ADMIN_REVOKED);
  EXPECT_EQ(status_of(states.opens().close(use(alice, opened_id), after)), NFS4ERR_ADMIN_REVOKED);
  EXPECT_EQ(states.test(opened_id, *alice), NFS4ERR_ADMIN_REVOKED);
  EXPECT_EQ(states.test(locked->id, *alice), NFS4ERR_ADMIN_REVOKED);
  EXPECT_FALSE(states.has(locked->id));
  EXPECT_EQ(status_of(open(bob, "b", {share_both, share_both})), NFS4_OK);
  const DeferredWork left = states.take_left();
  ASSERT_EQ(left.released.size(), 1U) << "local processes are to get the lock, too";
  EXPECT_EQ(left.released[0].owner, locked->owner);
  EXPECT_EQ(left.unused.size(), 1U);

  EXPECT_EQ(alice->status(), SEQ4_STATUS_ADMIN_STATE_REVOKED);
  EXPECT_EQ(freed(opened_id), NFS4_OK);
  EXPECT_EQ(alice->status(), SEQ4_STATUS_ADMIN_STATE_REVOKED) << "not everything is freed";
  EXPECT_EQ(freed(locked->id), NFS4_OK);
  EXPECT_EQ(alice->status(), 0U);
  EXPECT_EQ(states.test(opened_id, *alice), NFS4ERR_BAD_STATEID);
}

TEST_F(RevocationTest, the_same_owners_open_and_lock_anew_meanwhile) {
  const stateid4 first = opened(alice, "o", reads_and_writes);
  ASSERT_TRUE(lock(alice, first, "l", whole));
  states.revoke_client(alice->id);
  const stateid4 second = opened(alice, "o", reads_and_writes);
  EXPECT_NE(first.other, second.other);
  EXPECT_TRUE(lock(alice, second, "l", whole));
  states.revoke_client(alice->id);
  EXPECT_EQ(freed(first), NFS4_OK);
  EXPECT_EQ(freed(second), NFS4_OK);
  EXPECT_EQ(alice->status(), SEQ4_STATUS_ADMIN_STATE_REVOKED) << "two locks are left";
  states.drop_client(alice->id);
  EXPECT_EQ(states.size(), 0U);
  (void)states.take_left();
}

TEST_F(RevocationTest, who_waits_for_a_revoked_lock_gets_its_turn) {
  const stateid4 holder = opened(alice, "o", reads_and_writes);
  ASSERT_TRUE(lock(alice, holder, "l", whole));
  const stateid4 waits = opened(bob, "b", reads_and_writes);
  ASSERT_FALSE(lock(bob, waits, "m", whole, true));
  states.revoke_client(alice->id);
  const DeferredWork left = states.take_left();
  ASSERT_EQ(left.turns.size(), 1U);
  EXPECT_EQ(left.turns[0].client, bob->id);
}

TEST_F(RevocationTest, other_clients_and_those_that_cannot_be_told_keep_what_they_have) {
  const stateid4 other = opened(bob, "b", reads);
  const stateid4 old_one = opened(old, "o", reads);
  states.revoke_client(alice->id);
  states.revoke_client(old->id);
  EXPECT_EQ(io(bob, other, share_read), NFS4_OK);
  EXPECT_EQ(io(old, old_one, share_read), NFS4_OK);
}

TEST_F(RevocationTest, states_are_counted_and_listed_by_kind_and_client) {
  const stateid4 id = opened(alice, "o", reads_and_writes);
  const auto locked = lock(alice, id, "l", whole);
  now += std::chrono::seconds(3);
  opened(bob, "b", {share_read, share_write}, handle(2));
  EXPECT_EQ(states.count().of(StateKind::open), 2U);
  EXPECT_EQ(states.count().of(StateKind::lock), 1U);
  EXPECT_EQ(states.count(alice->id).of(StateKind::open), 1U);
  EXPECT_EQ(states.count(old->id).of(StateKind::open), 0U);

  const StatePage opens = states.list(of(StateKind::open));
  ASSERT_EQ(opens.lines.size(), 2U);
  EXPECT_FALSE(opens.next);
  EXPECT_EQ(opens.lines[0].owner, "o");
  EXPECT_EQ(opens.lines[1].client, bob->id);
  EXPECT_EQ(opens.lines[1].share, (Share{share_read, share_write}));
  EXPECT_EQ(opens.lines[1].file, handle(2));
  EXPECT_NE(opens.lines[1].open, nullptr);
  EXPECT_EQ(opens.lines[1].made, now);
  EXPECT_EQ(opens.lines[0].made, now - std::chrono::seconds(3));
  const StatePage locks = states.list(of(StateKind::lock));
  ASSERT_EQ(locks.lines.size(), 1U);
  EXPECT_EQ(locks.lines[0].id, locked->id);
  EXPECT_EQ(locks.lines[0].made, opens.lines[0].made);
  ASSERT_EQ(locks.lines[0].ranges.size(), 1U);
  EXPECT_EQ(states.list(of(std::nullopt, bob->id)).lines.size(), 1U);
  states.revoke_client(alice->id);
  EXPECT_EQ(states.list(of(std::nullopt)).lines.size(), 1U) << "what is revoked holds nothing";
  (void)states.take_left();
}

TEST_F(RevocationTest, a_long_list_comes_in_pages) {
  constexpr std::size_t files = 200;
  for (std::uint8_t i = 0; i < files; ++i) opened(alice, "o", reads, handle(i));
  std::set<std::uint32_t> seen;
  std::optional<std::uint32_t> place = 0;
  for (std::size_t pages = 0; place && pages < files; ++pages) {
    const StatePage page = states.list(from(*place, 7));
    EXPECT_LE(page.lines.size(), 7U);
    for (const StateLine& line : page.lines) seen.insert(static_cast<std::uint32_t>(line.file.bytes[0]));
    place = page.next;
  }
  EXPECT_EQ(seen.size(), files);
  EXPECT_TRUE(states.list(from(UINT32_MAX, 7)).lines.empty()) << "whatever a client of the socket asks";
}

}  // namespace
}  // namespace braid::nfs4::state::test
