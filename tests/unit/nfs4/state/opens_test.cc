// Opens, stateids and what they allow.
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "opens_fixture.h"

namespace braid::nfs4::state::test {
namespace {

using OpensTest = StatesTest;

std::vector<Share> all_shares() {
  std::vector<Share> shares;
  for (std::uint8_t access = 1; access <= 3; ++access)
    for (std::uint8_t deny = 0; deny <= 3; ++deny) shares.push_back({access, deny});
  return shares;
}

// Whether an owner of this client may open after another one did.
class ShareTest : public StatesTest {
 protected:
  void expect_as_rfc(const ClientRef& client, std::string_view owner) {
    std::uint8_t file = 0;
    for (const Share& first : all_shares()) {
      for (const Share& second : all_shares()) {
        SCOPED_TRACE(testing::Message() << int{first.access} << int{first.deny} << " then "
                                        << int{second.access} << int{second.deny});
        const vfs::FileHandle it = handle(++file);
        ASSERT_TRUE(open(alice, "a", first, it));
        const bool clash = (first.deny & second.access) != 0 || (second.deny & first.access) != 0;
        const auto other = open(client, owner, second, it);
        EXPECT_EQ(status_of(other), clash ? NFS4ERR_SHARE_DENIED : NFS4_OK);
        EXPECT_TRUE(!clash || other.error().blockers.empty() == (client == alice));
      }
    }
  }
};

TEST_F(ShareTest, another_client_may_open_unless_one_denies_what_the_other_does) { expect_as_rfc(bob, "b"); }

TEST_F(ShareTest, another_owner_of_the_client_is_somebody_else) { expect_as_rfc(alice, "b"); }

// RFC 8881 9.7: "with no exception for an existing OPEN for the same open-owner"
TEST_F(ShareTest, an_owner_denies_it_to_itself) { expect_as_rfc(alice, "a"); }

TEST_F(ShareTest, what_denies_may_be_reclaimed_twice) {
  const auto reclaim = [&](const ClientRef& client, std::string_view owner) {
    return status_of(states.opens().open({.client = client,
                                          .minor_version = 1,
                                          .owner = owner,
                                          .file = file_one,
                                          .share = {share_both, share_both},
                                          .opener = {},
                                          .descriptor = descriptor(share_both),
                                          .reclaim = true,
                                          .now = now},
                                         after));
  };
  EXPECT_EQ(reclaim(alice, "a"), NFS4_OK);
  EXPECT_EQ(reclaim(alice, "a"), NFS4_OK);
  EXPECT_EQ(reclaim(alice, "b"), NFS4ERR_SHARE_DENIED);
  EXPECT_EQ(reclaim(bob, "a"), NFS4ERR_SHARE_DENIED);
}

TEST_F(OpensTest, an_owner_that_opens_again_gets_the_same_stateid_with_the_union_of_its_rights) {
  const stateid4 first = opened(alice, "a", {share_read, share_write});
  const stateid4 second = opened(alice, "a", reads);
  EXPECT_EQ(first.other, second.other);
  EXPECT_EQ(second.seqid, first.seqid + 1);
  EXPECT_EQ(io(alice, second, share_read), NFS4_OK);
  EXPECT_EQ(io(alice, second, share_write), NFS4ERR_OPENMODE);
  EXPECT_EQ(status_of(open(bob, "b", writes)), NFS4ERR_SHARE_DENIED);
  opened(bob, "b", reads, handle(2));
  const stateid4 both = opened(bob, "b", {share_write, share_write}, handle(2));
  EXPECT_TRUE(states.authorize(use(bob, both, handle(2)), share_read, after));
  EXPECT_TRUE(states.authorize(use(bob, both, handle(2)), share_write, after));
}

struct Downgrade {
  std::vector<Share> opens;
  Share to;
  bool allowed;
};

TEST_F(OpensTest, a_downgrade_goes_back_to_a_union_of_earlier_opens_only) {
  const std::array<Downgrade, 9> cases{{
      {{{1, 0}, {2, 0}}, {1, 0}, true},
      {{{1, 0}, {2, 0}}, {2, 0}, true},
      {{{1, 0}, {2, 0}}, {3, 0}, true},
      {{{3, 0}}, {1, 0}, false},
      {{{1, 0}}, {3, 0}, false},
      {{{1, 0}}, {1, 1}, false},
      {{{1, 0}, {2, 2}}, {1, 2}, false},
      {{{1, 0}, {1, 2}}, {1, 0}, true},
      {{{1, 3}}, {1, 0}, false},
  }};
  std::uint8_t number = 0;
  for (const Downgrade& one : cases) {
    const vfs::FileHandle file = handle(++number);
    SCOPED_TRACE(testing::Message() << "case " << int{number});
    stateid4 id;
    for (const Share& share : one.opens) id = opened(alice, "a", share, file);
    const auto left = states.opens().downgrade(use(alice, id, file), one.to, after);
    EXPECT_EQ(status_of(left), one.allowed ? NFS4_OK : NFS4ERR_INVAL);
    EXPECT_TRUE(!left || left->seqid == id.seqid + 1);
  }
}

TEST_F(OpensTest, what_was_given_up_by_a_downgrade_is_gone) {
  opened(alice, "a", {share_read, 0});
  const stateid4 both = opened(alice, "a", {share_write, share_write});
  const stateid4 left = states.opens().downgrade(use(alice, both), reads, after).value();
  EXPECT_EQ(io(alice, left, share_write), NFS4ERR_OPENMODE);
  EXPECT_EQ(status_of(states.opens().downgrade(use(alice, left), reads_and_writes, after)), NFS4ERR_INVAL);
  EXPECT_EQ(status_of(open(bob, "b", writes)), NFS4_OK);
  after = {};
  EXPECT_EQ(opens_alive, 2) << "the descriptor for writing has been closed";
}

TEST_F(OpensTest, a_closed_open_denies_nothing_and_its_stateid_is_bad) {
  const stateid4 id = opened(alice, "a", {share_both, share_both});
  EXPECT_EQ(states.opens().close(use(alice, id), after).value(), invalid_stateid());
  EXPECT_EQ(io(alice, id, share_read), NFS4ERR_BAD_STATEID);
  EXPECT_EQ(status_of(states.opens().close(use(alice, id), after)), NFS4ERR_BAD_STATEID);
  EXPECT_EQ(status_of(open(bob, "b", {share_both, share_both})), NFS4_OK);
  after = {};
  EXPECT_EQ(opens_alive, 1);
}

TEST_F(OpensTest, what_an_open_may_do_is_what_it_was_opened_for) {
  for (const std::uint8_t opened_for : {share_read, share_write, share_both}) {
    for (const std::uint8_t access : {share_read, share_write}) {
      const stateid4 id = opened(alice, std::string(1, static_cast<char>('a' + opened_for)), {opened_for, 0});
      EXPECT_EQ(io(alice, id, access), (opened_for & access) != 0 ? NFS4_OK : NFS4ERR_OPENMODE);
    }
  }
}

TEST_F(OpensTest, the_descriptor_of_a_grant_allows_the_access) {
  opened(alice, "a", reads);
  const stateid4 id = opened(alice, "a", writes);
  const auto to_read = states.authorize(use(alice, id), share_read, after);
  const auto to_write = states.authorize(use(alice, id), share_write, after);
  EXPECT_EQ(to_read->open->access(), vfs::OpenAccess::read);
  EXPECT_EQ(to_write->open->access(), vfs::OpenAccess::write);
}

TEST_F(OpensTest, a_stateid_is_of_its_client_and_its_file) {
  const stateid4 id = opened(alice, "a", reads);
  EXPECT_EQ(io(bob, id, share_read), NFS4ERR_BAD_STATEID);
  EXPECT_EQ(status_of(states.authorize(use(alice, id, handle(2)), share_read, after)), NFS4ERR_BAD_STATEID);
  EXPECT_EQ(states.test(id, *alice), NFS4_OK);
  EXPECT_EQ(states.test(id, *bob), NFS4ERR_BAD_STATEID);
}

TEST_F(OpensTest, without_a_stateid_denials_hold_except_for_reading_past_them) {
  opened(alice, "a", {share_read, share_both});
  EXPECT_EQ(io(bob, anonymous_stateid(), share_read), NFS4ERR_LOCKED);
  EXPECT_EQ(io(bob, anonymous_stateid(), share_write), NFS4ERR_LOCKED);
  EXPECT_EQ(io(bob, read_bypass_stateid(), share_read), NFS4_OK);
  EXPECT_EQ(io(bob, read_bypass_stateid(), share_write), NFS4ERR_LOCKED);
  EXPECT_EQ(io(bob, invalid_stateid(), share_read), NFS4ERR_BAD_STATEID);
  EXPECT_EQ(status_of(states.authorize(use(bob, anonymous_stateid(), handle(2)), share_write, after)),
            NFS4_OK);
}

TEST_F(OpensTest, whether_somebody_is_denied_takes_no_longer_where_many_have_the_file_open) {
  constexpr int opens = 1000;
  for (int i = 0; i < opens; ++i) opened(alice, std::to_string(i), {share_read, share_write});
  EXPECT_EQ(io(bob, anonymous_stateid(), share_read), NFS4_OK);
  EXPECT_EQ(status_of(open(bob, "b", reads)), NFS4_OK);
  EXPECT_LT(states.longest_call(), 100U);
  EXPECT_EQ(io(bob, anonymous_stateid(), share_write), NFS4ERR_LOCKED);
  EXPECT_EQ(status_of(open(bob, "c", writes)), NFS4ERR_SHARE_DENIED);
}

TEST_F(OpensTest, the_table_of_files_grows_in_short_steps) {
  for (std::uint32_t number = 0; number < 20000; ++number) {
    vfs::FileHandle file = handle(1);
    for (unsigned byte = 0; byte < 3; ++byte)
      file.bytes.at(1 + byte) = static_cast<std::byte>(number >> (8 * byte));
    opened(alice, "a", reads, file);
  }
  EXPECT_LT(states.longest_call(), 300U);
}

TEST_F(OpensTest, an_owner_finds_its_open_again_among_few_and_among_many) {
  std::vector<stateid4> ids;
  for (int i = 0; i < 20; ++i) ids.push_back(opened(i % 2 == 0 ? alice : bob, std::to_string(i), reads));
  for (int i = 19; i >= 0; --i) {
    const ClientRef& client = i % 2 == 0 ? alice : bob;
    const auto again = open(client, std::to_string(i), writes);
    ASSERT_TRUE(again.has_value());
    EXPECT_FALSE(again->fresh);
    EXPECT_TRUE(states.opens().close(use(client, again->id), after));
  }
  EXPECT_EQ(states.size(), 0U);
  EXPECT_EQ(status_of(open(bob, "b", {share_both, share_both})), NFS4_OK);
}

TEST_F(OpensTest, an_open_that_failed_after_all_leaves_everything_as_it_was) {
  const auto fresh = open(alice, "a", {share_both, share_both});
  states.opens().undo(*fresh, after);
  EXPECT_EQ(states.size(), 0U);

  const stateid4 id = opened(alice, "a", reads);
  const auto upgraded = open(alice, "a", {share_write, share_both});
  states.opens().undo(*upgraded, after);
  EXPECT_EQ(io(alice, id, share_read), NFS4_OK);
  EXPECT_EQ(io(alice, id, share_write), NFS4ERR_OPENMODE);
  EXPECT_EQ(status_of(open(bob, "b", reads)), NFS4_OK);
  EXPECT_EQ(status_of(states.opens().downgrade(use(alice, id), writes, after)), NFS4ERR_INVAL);
}

TEST_F(OpensTest, a_client_that_is_dropped_holds_nothing_and_its_stateids_have_expired) {
  const stateid4 id = opened(old, "a", {share_both, share_both});
  ASSERT_TRUE(lock(old, id, "l", {{0, 9}, LockMode::write}));
  states.drop_client(old->id);
  EXPECT_FALSE(states.holds_state(old->id));
  EXPECT_EQ(states.size(), 0U);
  EXPECT_EQ(io(old, id, share_read), NFS4ERR_EXPIRED);
  EXPECT_EQ(status_of(open(bob, "b", {share_both, share_both})), NFS4_OK);
  EXPECT_EQ(states.take_left().released.size(), 1U) << "the file system is told about the lock";
  after = {};
  EXPECT_EQ(opens_alive, 1);
}

class FewStatesTest : public StatesTest {
 protected:
  FewStatesTest()
      : StatesTest({.states_max = 5,
                    .states_per_client = 3,
                    .owners_max = 3,
                    .owners_per_client = 2,
                    .lock_ranges_per_client = 4}) {}
};

TEST_F(FewStatesTest, a_client_has_no_more_states_than_it_may) {
  for (std::uint8_t file = 1; file <= 3; ++file) opened(alice, "a", reads, handle(file));
  EXPECT_EQ(status_of(open(alice, "a", reads, handle(4))), NFS4ERR_DELAY);
  opened(bob, "b", reads);
  EXPECT_EQ(status_of(open(alice, "a", reads, handle(1))), NFS4_OK) << "an open that is there needs no room";
}

TEST_F(FewStatesTest, all_clients_together_have_no_more_states_than_there_is_room_for) {
  for (std::uint8_t file = 1; file <= 3; ++file) opened(alice, "a", reads, handle(file));
  for (std::uint8_t file = 1; file <= 2; ++file) opened(bob, "b", reads, handle(file));
  EXPECT_EQ(status_of(open(bob, "b", reads, handle(3))), NFS4ERR_DELAY);
  EXPECT_EQ(states.size(), 5U);
}

TEST_F(FewStatesTest, a_client_has_no_more_owners_than_it_may) {
  opened(old, "a", reads);
  opened(old, "b", reads);
  EXPECT_EQ(status_of(open(old, "c", reads)), NFS4ERR_RESOURCE);
}

TEST_F(FewStatesTest, all_clients_together_have_no_more_owners_than_there_is_room_for) {
  const stateid4 id = opened(alice, "a", reads);
  opened(alice, "b", reads);
  opened(bob, "c", reads);
  EXPECT_EQ(status_of(open(bob, "d", reads)), NFS4ERR_DELAY);
  EXPECT_EQ(status_of(lock(alice, id, "l", {{0, 0}, LockMode::read})), NFS4ERR_DELAY);
  ASSERT_TRUE(states.opens().close(use(alice, id), after));
  EXPECT_EQ(status_of(open(bob, "d", reads)), NFS4_OK);
}

TEST_F(FewStatesTest, an_owner_that_could_not_open_anything_takes_no_room) {
  for (const char* name : {"a", "b", "c"}) {
    const OwnerTurn turn = states.turns().begin_open(old, name, 1, now, after);
    ASSERT_EQ(turn.how, OwnerTurn::How::run);
    EXPECT_EQ(states.turns().end(turn.owner, NFS4ERR_NOENT, {}), nullptr);
  }
}

TEST_F(FewStatesTest, a_client_has_no_more_locked_ranges_than_it_may) {
  const stateid4 id = opened(alice, "a", reads);
  const stateid4 locks = lock(alice, id, "l", {{0, 0}, LockMode::read})->id;
  const auto second = lock(alice, locks, std::nullopt, {{2, 2}, LockMode::read});
  const auto third = lock(alice, second->id, std::nullopt, {{4, 4}, LockMode::read});
  EXPECT_EQ(status_of(lock(alice, third->id, std::nullopt, {{6, 6}, LockMode::read})), NFS4ERR_DELAY);
}

TEST_F(FewStatesTest, unlocking_leaves_no_more_ranges_than_a_client_may_have) {
  const stateid4 id = opened(old, "a", reads);
  stateid4 locks = lock(old, id, "l", {{0, UINT64_MAX}, LockMode::read})->id;
  std::uint64_t at = 1;
  for (; at < 100; at += 2) {
    const auto unlocked = unlock(use(old, locks), {at, at});
    if (!unlocked) {
      EXPECT_EQ(unlocked.error(), NFS4ERR_RESOURCE);
      break;
    }
    locks = *unlocked;
  }
  EXPECT_LT(at, 20U);
  EXPECT_TRUE(unlock(use(old, locks), {at, UINT64_MAX})) << "this leaves one of one";
}

// --- Stateids.

struct TestState final : State {
  explicit TestState(ClientRef whose) : State(StateKind::open, std::move(whose)) {}
};

class StateIdTableTest : public testing::Test {
 protected:
  State& add() { return *table.add(std::make_unique<TestState>(client)); }
  ClientRef client = make_client(5, 0);
  StateIdTable table{9, 100};
};

TEST_F(StateIdTableTest, the_parts_of_a_stateid_come_back) {
  const StateIdParts parts{.epoch = 0xabcdef,
                           .kind = StateKind::delegation,
                           .client = 0x8765432,
                           .index = 0x123456,
                           .generation = 0xfedc};
  EXPECT_EQ(unpack(pack(parts)), parts);
}

TEST_F(StateIdTableTest, a_stateid_of_another_run_is_stale_in_4_0_and_bad_with_sessions) {
  stateid4 id = add().id();
  id.other[2] ^= std::byte{1};
  EXPECT_EQ(table.find(id, 0).error(), NFS4ERR_STALE_STATEID);
  EXPECT_EQ(table.find(id, 1).error(), NFS4ERR_BAD_STATEID);
  const stateid4 foreign{1, {std::byte{0xff}, std::byte{0xee}, std::byte{0xdd}}};
  EXPECT_EQ(table.find(foreign, 0).error(), NFS4ERR_STALE_STATEID) << "whatever follows the epoch";
}

TEST_F(StateIdTableTest, a_place_that_is_used_again_has_another_stateid) {
  std::vector<stateid4> former;
  for (int round = 0; round < 500; ++round) {
    State& state = add();
    for (const stateid4& id : former) ASSERT_NE(id.other, state.other);
    former.push_back(state.id());
    table.erase(state);
  }
  for (const stateid4& id : former) EXPECT_EQ(table.find(id, 0).error(), NFS4ERR_BAD_STATEID);
}

TEST_F(StateIdTableTest, stateids_of_an_expired_client_say_so) {
  State& state = add();
  const stateid4 id = state.id();
  table.remember_expired(client->id);
  table.erase(state);
  EXPECT_EQ(table.find(id, 0).error(), NFS4ERR_EXPIRED);
}

TEST_F(StateIdTableTest, no_more_states_than_the_table_may_have) {
  for (int i = 0; i < 100; ++i) add();
  EXPECT_EQ(table.add(std::make_unique<TestState>(client)), nullptr);
}

struct SeqidCase {
  std::uint32_t current, given, minor_version;
  nfsstat4 expected;
};

TEST_F(StateIdTableTest, a_seqid_is_current_old_or_from_the_future) {
  constexpr std::array<SeqidCase, 10> cases{{
      {5, 5, 0, NFS4_OK},
      {5, 4, 0, NFS4ERR_OLD_STATEID},
      {5, 6, 0, NFS4ERR_BAD_STATEID},
      {5, 0, 0, NFS4ERR_OLD_STATEID},
      {5, 0, 1, NFS4_OK},
      {5, 4, 1, NFS4ERR_OLD_STATEID},
      {5, 6, 2, NFS4ERR_BAD_STATEID},
      {1, 0xffff'ffff, 1, NFS4ERR_OLD_STATEID},
      {0xffff'ffff, 1, 1, NFS4ERR_BAD_STATEID},
      {0x8000'0000, 1, 1, NFS4ERR_OLD_STATEID},
  }};
  State& state = add();
  for (const SeqidCase& one : cases) {
    SCOPED_TRACE(testing::Message() << one.current << " " << one.given << " 4." << one.minor_version);
    state.seqid = one.current;
    EXPECT_EQ(status_of(StateIdTable::check_seqid(state, one.given, one.minor_version)), one.expected);
  }
}

TEST_F(StateIdTableTest, the_seqid_after_the_last_one_is_not_zero) {
  State& state = add();
  state.seqid = 0xffff'ffff;
  EXPECT_EQ(state.bump().seqid, 1U);
}

TEST(SpecialStateIds, are_told_apart) {
  EXPECT_EQ(special_of(anonymous_stateid(), 0), SpecialStateId::anonymous);
  EXPECT_EQ(special_of(anonymous_stateid(), 1), SpecialStateId::anonymous);
  EXPECT_EQ(special_of(read_bypass_stateid(), 0), SpecialStateId::read_bypass);
  EXPECT_EQ(special_of(current_stateid(), 1), SpecialStateId::current);
  EXPECT_EQ(special_of(invalid_stateid(), 1), SpecialStateId::invalid);
  EXPECT_EQ(special_of(current_stateid(), 0), SpecialStateId::reserved);
  stateid4 odd = anonymous_stateid();
  odd.seqid = 2;
  EXPECT_EQ(special_of(odd, 1), SpecialStateId::reserved);
  odd = read_bypass_stateid();
  odd.seqid = 2;
  EXPECT_EQ(special_of(odd, 1), SpecialStateId::reserved);
  odd.other[3] = std::byte{1};
  EXPECT_EQ(special_of(odd, 1), SpecialStateId::none);
}

// All clients are looked at, each 10 seconds.
TEST_F(OpensTest, many_clients_with_owners_are_swept_in_small_portions) {
  constexpr std::uint32_t clients = 3000, at_once = 300;
  std::vector<std::pair<ClientRef, stateid4>> opens;
  for (std::uint32_t i = 0; i < clients; ++i) {
    const ClientRef client = make_client(100 + i, 0);
    opens.emplace_back(client, opened(client, "owner", reads));
  }
  const auto portions = [&] {
    std::uint32_t out = 1;
    for (bool more = states.tick(now, now, after); more; ++out) more = states.tidy(now, now, after);
    return out;
  };
  EXPECT_GE(portions(), clients / at_once);
  for (const auto& [client, id] : opens) ASSERT_TRUE(states.opens().close(use(client, id), after));
  EXPECT_EQ(states.size(), clients) << "stateids of 4.0 stay known until their owner goes";
  now += 11s;
  EXPECT_GE(portions(), clients / at_once);
  EXPECT_EQ(states.size(), 0U);
  EXPECT_LE(states.longest_call(), at_once);
}

}  // namespace
}  // namespace braid::nfs4::state::test
