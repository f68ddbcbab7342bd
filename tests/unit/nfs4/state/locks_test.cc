// Byte-range locks: against a model, and the rules between owners.
#include <array>
#include <limits>
#include <random>
#include <vector>

#include "opens_fixture.h"

namespace braid::nfs4::state::test {
namespace {

constexpr std::uint64_t offset_max = std::numeric_limits<std::uint64_t>::max();

// The file in the model: single bytes at its start and at the end of the offset space, and all between them
// as one. So every edge is met, those at 2^64 - 1 too.
constexpr std::size_t cells = 25;
ByteRange cell(std::size_t number) {
  constexpr std::size_t middle = cells / 2;
  if (number < middle) return {number, number};
  if (number > middle) return {offset_max - (cells - 1 - number), offset_max - (cells - 1 - number)};
  return {middle, offset_max - middle};
}

enum class Held : std::uint8_t { nothing, read, write };
Held held_as(LockMode mode) { return mode == LockMode::write ? Held::write : Held::read; }
using Model = std::array<Held, cells>;

struct Span {
  std::size_t first, last;
  [[nodiscard]] ByteRange bytes() const { return {cell(first).first, cell(last).last}; }
};

class Random {
 public:
  explicit Random(std::uint32_t seed) : engine_(seed) {}
  std::size_t below(std::size_t limit) { return engine_() % limit; }
  Span span() {
    const std::size_t a = below(cells), b = below(cells);
    return {std::min(a, b), std::max(a, b)};
  }
  LockMode mode() { return below(2) == 0 ? LockMode::read : LockMode::write; }

 private:
  std::mt19937 engine_;
};

bool conflicts(const Model& model, const Span& span, LockMode mode) {
  for (std::size_t i = span.first; i <= span.last; ++i)
    if (model[i] == Held::write || (model[i] == Held::read && mode == LockMode::write)) return true;
  return false;
}

// Several owners of two clients on one file.
class OwnersModelTest : public StatesTest, public testing::WithParamInterface<std::uint32_t> {
 protected:
  static constexpr std::size_t owners = 4;
  struct Owner {
    ClientRef client;
    std::string name;
    stateid4 open;
    std::optional<stateid4> locks;
    Model model{};
  };
  OwnersModelTest() {
    for (std::size_t i = 0; i < owners; ++i) {
      const ClientRef client = i % 2 == 0 ? alice : bob;
      all[i] = {client,
                std::string(1, static_cast<char>('a' + i)),
                opened(client, "open", reads_and_writes),
                {},
                {}};
    }
  }
  [[nodiscard]] bool others_conflict(const Owner& owner, const Span& span, LockMode mode) const {
    for (const Owner& other : all)
      if (&other != &owner && conflicts(other.model, span, mode)) return true;
    return false;
  }
  void try_lock(Owner& owner, const Span& span, LockMode mode) {
    // The open's stateid may have moved on; a seqid of zero means the current one.
    stateid4 id = owner.locks.value_or(owner.open);
    id.seqid = 0;
    const auto name = owner.locks ? std::nullopt : std::optional<std::string_view>(owner.name);
    const auto locked = lock(owner.client, id, name, {span.bytes(), mode});
    const bool refused = others_conflict(owner, span, mode);
    ASSERT_EQ(status_of(locked), refused ? NFS4ERR_DENIED : NFS4_OK);
    if (refused) {
      const LockHolder& holder = *locked.error().holder;
      ASSERT_TRUE(holder.held.range.overlaps(span.bytes()));
      ASSERT_TRUE(vfs::types_conflict(holder.held.type, mode));
      ASSERT_FALSE(holder.client == owner.client->id && holder.owner == owner.name);
      return;
    }
    owner.locks = locked->id;
    for (std::size_t i = span.first; i <= span.last; ++i) owner.model[i] = held_as(mode);
  }
  void unlock(Owner& owner, const Span& span) {
    if (!owner.locks) return;
    const auto left = StatesTest::unlock(use(owner.client, *owner.locks), span.bytes());
    ASSERT_TRUE(left);
    ASSERT_EQ(left->seqid, owner.locks->seqid + 1);
    owner.locks = *left;
    for (std::size_t i = span.first; i <= span.last; ++i) owner.model[i] = Held::nothing;
  }
  std::array<Owner, owners> all;
};

TEST_P(OwnersModelTest, a_lock_is_granted_exactly_when_no_other_owner_is_in_the_way) {
  Random random(GetParam());
  for (int step = 0; step < 1500; ++step) {
    Owner& owner = all[random.below(owners)];
    if (random.below(5) < 3)
      ASSERT_NO_FATAL_FAILURE(try_lock(owner, random.span(), random.mode())) << "step " << step;
    else
      ASSERT_NO_FATAL_FAILURE(unlock(owner, random.span())) << "step " << step;
    const Span probe = random.span();
    const LockMode mode = random.mode();
    ASSERT_EQ(states.locks().test(owner.client->id, owner.name, handle(1), {probe.bytes(), mode}).has_value(),
              others_conflict(owner, probe, mode));
    after = {};
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, OwnersModelTest, testing::Range(1U, 7U));

struct RangeCase {
  std::uint64_t offset, length;
  std::optional<ByteRange> expected;
};

TEST(Ranges, end_where_offset_and_length_say_or_are_refused) {
  const std::array<RangeCase, 8> cases{{
      {0, 1, ByteRange{0, 0}},
      {5, 10, ByteRange{5, 14}},
      {0, offset_max, ByteRange{0, offset_max}},
      {7, offset_max, ByteRange{7, offset_max}},
      {offset_max, 1, ByteRange{offset_max, offset_max}},
      {offset_max, offset_max, ByteRange{offset_max, offset_max}},
      {0, 0, std::nullopt},
      {offset_max, 2, std::nullopt},
  }};
  for (const RangeCase& one : cases) {
    SCOPED_TRACE(testing::Message() << one.offset << " " << one.length);
    EXPECT_EQ(range_of(one.offset, one.length), one.expected);
    EXPECT_TRUE(!one.expected || one.expected->last == offset_max || length_of(*one.expected) == one.length);
  }
  EXPECT_EQ(length_of({3, offset_max}), offset_max);
}

// --- Rules around locks.

using LocksTest = StatesTest;
TEST_F(LocksTest, a_lock_needs_an_open_of_its_kind) {
  const stateid4 to_read = opened(alice, "r", reads);
  const stateid4 to_write = opened(alice, "w", writes);
  EXPECT_EQ(status_of(lock(alice, to_read, "a", write_0_9)), NFS4ERR_OPENMODE);
  EXPECT_EQ(status_of(lock(alice, to_write, "b", read_0_9)), NFS4ERR_OPENMODE);
  EXPECT_EQ(status_of(lock(alice, to_read, "c", read_0_9)), NFS4_OK);
  EXPECT_EQ(status_of(lock(bob, to_read, "d", read_0_9)), NFS4ERR_BAD_STATEID);
}

TEST_F(LocksTest, a_lock_stateid_allows_what_its_open_does) {
  const stateid4 id = lock(alice, opened(alice, "a", reads), "l", read_0_9)->id;
  EXPECT_EQ(io(alice, id, share_read), NFS4_OK);
  EXPECT_EQ(io(alice, id, share_write), NFS4ERR_OPENMODE);
}

TEST_F(LocksTest, closing_a_file_releases_its_locks_and_says_so_to_the_file_system) {
  const stateid4 open_id = opened(alice, "a", reads_and_writes);
  const auto locked = lock(alice, open_id, "l", write_0_9);
  const stateid4 other = opened(bob, "b", reads_and_writes);
  EXPECT_EQ(status_of(lock(bob, other, "m", read_0_9)), NFS4ERR_DENIED);
  ASSERT_TRUE(states.opens().close(use(alice, open_id), after));
  ASSERT_EQ(after.released.size(), 1U);
  EXPECT_EQ(after.released[0].owner, locked->owner);
  EXPECT_EQ(status_of(lock(bob, other, "m", read_0_9)), NFS4_OK);
  EXPECT_EQ(status_of(unlock(use(alice, locked->id), {0, 9})), NFS4ERR_BAD_STATEID);
}

TEST_F(LocksTest, a_lock_that_the_file_system_refused_leaves_what_was_there) {
  const stateid4 open_id = opened(alice, "a", reads_and_writes);
  const stateid4 first = lock(alice, open_id, "l", {{0, 4}, LockMode::read})->id;
  const HeldRange more{{2, 9}, LockMode::write};
  const auto second = lock(alice, first, std::nullopt, more);
  undo(*second, more, false);
  EXPECT_FALSE(states.locks().test(bob->id, "m", handle(1), {{0, 4}, LockMode::read}));
  EXPECT_TRUE(states.locks().test(bob->id, "m", handle(1), {{4, 4}, LockMode::write}));
  EXPECT_FALSE(states.locks().test(bob->id, "m", handle(1), {{5, 9}, LockMode::write}));
}

TEST_F(LocksTest, a_lock_that_the_file_system_refused_leaves_the_stateid_as_the_client_knows_it) {
  const stateid4 open_id = opened(alice, "a", reads_and_writes);
  const stateid4 known = lock(alice, open_id, "l", write_0_9)->id;
  const HeldRange more{{20, 29}, LockMode::write};
  const auto refused = lock(alice, known, std::nullopt, more);
  undo(*refused, more, false);
  const auto next = unlock(use(alice, known), {0, 4});
  ASSERT_TRUE(next);
  EXPECT_EQ(next->seqid, known.seqid + 1);
}

TEST_F(LocksTest, what_was_done_while_the_file_system_refused_counts) {
  const stateid4 open_id = opened(alice, "a", reads_and_writes);
  const stateid4 known = lock(alice, open_id, "l", write_0_9)->id;
  const HeldRange more{{20, 29}, LockMode::write};
  const auto refused = lock(alice, known, std::nullopt, more);
  const auto meanwhile = lock(alice, known, std::nullopt, {{30, 39}, LockMode::write});
  ASSERT_FALSE(meanwhile) << "it was sent with a stateid that is old by now";
  stateid4 latest = known;
  latest.seqid = 0;
  const auto unlocked = unlock(use(alice, latest), {0, 4});
  ASSERT_TRUE(unlocked);
  undo(*refused, more, false);
  EXPECT_TRUE(unlock(use(alice, *unlocked), {5, 9}));
}

TEST_F(LocksTest, an_owner_whose_first_lock_the_file_system_refused_may_begin_again) {
  const stateid4 open_id = opened(old, "a", reads_and_writes);
  const auto first = lock(old, open_id, "l", write_0_9);
  undo(*first, write_0_9, false);
  EXPECT_EQ(status_of(lock(old, open_id, "l", write_0_9)), NFS4_OK);
}

TEST_F(LocksTest, a_lock_stateid_can_be_freed_once_it_locks_nothing) {
  const stateid4 open_id = opened(alice, "a", reads_and_writes);
  const stateid4 locked = lock(alice, open_id, "l", write_0_9)->id;
  EXPECT_EQ(status_of(states.free(open_id, *alice, after)), NFS4ERR_LOCKS_HELD);
  EXPECT_EQ(status_of(states.free(locked, *alice, after)), NFS4ERR_LOCKS_HELD);
  const stateid4 empty = unlock(use(alice, locked), {0, offset_max}).value();
  EXPECT_EQ(status_of(states.free(empty, *alice, after)), NFS4_OK);
  EXPECT_EQ(states.test(empty, *alice), NFS4ERR_BAD_STATEID);
}

TEST_F(LocksTest, an_owner_with_locks_is_not_released) {
  const stateid4 open_id = opened(old, "a", reads_and_writes);
  const auto locked = lock(old, open_id, "l", write_0_9);
  EXPECT_EQ(status_of(states.locks().release_owner(old->id, "l", after)), NFS4ERR_LOCKS_HELD);
  ASSERT_TRUE(unlock(use(old, locked->id), {0, 9}));
  EXPECT_EQ(status_of(states.locks().release_owner(old->id, "l", after)), NFS4_OK);
  EXPECT_EQ(states.locks().owner_id(old->id, "l"), std::nullopt);
  EXPECT_EQ(status_of(states.locks().release_owner(old->id, "nobody", after)), NFS4_OK);
}

TEST_F(LocksTest, an_owner_whose_last_lock_takes_it_with_it_is_released_once) {
  const stateid4 open_id = opened(alice, "a", reads_and_writes);
  const stateid4 other_id = opened(alice, "a", reads_and_writes, handle(2));
  const auto locked = lock(alice, open_id, "l", write_0_9);
  ASSERT_TRUE(unlock(use(alice, locked->id), {0, 9}));
  EXPECT_EQ(status_of(states.locks().release_owner(alice->id, "l", after)), NFS4_OK);
  EXPECT_EQ(states.locks().owner_id(alice->id, "l"), std::nullopt);
  EXPECT_EQ(states.size(), 2U);
  EXPECT_EQ(states.test(other_id, *alice), NFS4_OK);
  EXPECT_EQ(status_of(lock(alice, open_id, "l", write_0_9)), NFS4_OK);
}

class FullLocksTest : public StatesTest {
 protected:
  static StateLimits one_state() {
    StateLimits limits;
    limits.states_per_client = 1;
    return limits;
  }
  FullLocksTest() : StatesTest(one_state()) {}
};

TEST_F(FullLocksTest, a_lock_that_finds_no_room_leaves_no_owner) {
  const HeldRange wanted{{0, 9}, LockMode::write};
  const stateid4 open_id = opened(alice, "a", reads_and_writes);
  EXPECT_EQ(status_of(lock(alice, open_id, "l", wanted)), NFS4ERR_DELAY);
  EXPECT_EQ(states.locks().owner_id(alice->id, "l"), std::nullopt);
  const stateid4 old_id = opened(old, "a", reads_and_writes);
  EXPECT_EQ(status_of(lock(old, old_id, "l", wanted)), NFS4ERR_RESOURCE);
  now += 60s;
  states.tick(now, now, after);
  EXPECT_EQ(states.locks().owner_id(old->id, "l"), std::nullopt);
}

// Somebody local holds bytes 0 to 9.
class LocalWaitsTest : public StatesTest {
 protected:
  stateid4 by_alice = opened(alice, "a", reads_and_writes);
  stateid4 by_bob = opened(bob, "b", reads_and_writes);
  void refused_locally(const ClientRef& client, const stateid4& open_id, std::string_view owner,
                       bool blocking) {
    const auto locked = lock(client, open_id, owner, write_0_9, blocking);
    ASSERT_TRUE(locked);
    undo(*locked, write_0_9, blocking);
  }
};

TEST_F(LocalWaitsTest, who_waits_for_somebody_local_is_told_when_that_one_is_gone) {
  refused_locally(alice, by_alice, "first", true);
  refused_locally(bob, by_bob, "second", true);
  refused_locally(bob, by_bob, "tries", false);
  EXPECT_TRUE(after.turns.empty());
  const std::vector<LocalWait> waits = states.locks().local_waits();
  ASSERT_EQ(waits.size(), 2U);
  EXPECT_EQ(waits[0].owner, "first");
  EXPECT_EQ(waits[0].file, file_one);
  EXPECT_EQ(waits[0].wanted, write_0_9);
  EXPECT_NE(waits[0].open, nullptr);
  for (const LocalWait& wait : waits) states.locks().local_gone(wait, after);
  ASSERT_EQ(after.turns.size(), 1U) << "one after the other";
  EXPECT_EQ(after.turns[0].owner, "first");
  EXPECT_TRUE(states.locks().local_waits().empty());
  const auto first = lock(alice, by_alice, "first", write_0_9, true);
  ASSERT_TRUE(first);
  after = {};
  ASSERT_TRUE(unlock(use(alice, first->id), {0, 9}));
  ASSERT_EQ(after.turns.size(), 1U);
  EXPECT_EQ(after.turns[0].owner, "second");
}

TEST_F(LocalWaitsTest, others_may_take_what_they_can_get_meanwhile) {
  refused_locally(alice, by_alice, "waits", true);
  const auto other = lock(bob, by_bob, "other", {{5, 20}, LockMode::write});
  ASSERT_TRUE(other);
  for (const LocalWait& wait : states.locks().local_waits()) states.locks().local_gone(wait, after);
  EXPECT_TRUE(after.turns.empty()) << "another client has it by now";
  ASSERT_TRUE(unlock(use(bob, other->id), {5, 20}));
  EXPECT_EQ(after.turns.size(), 1U);
}

TEST_F(LocalWaitsTest, who_does_not_ask_again_or_has_closed_the_file_waits_no_more) {
  refused_locally(alice, by_alice, "waits", true);
  now += states.limits().lock_patience;
  states.tick(now, now, after);
  EXPECT_TRUE(states.locks().local_waits().empty());
  refused_locally(alice, by_alice, "waits", true);
  ASSERT_TRUE(states.opens().close(use(alice, by_alice), after));
  ASSERT_TRUE(states.opens().close(use(bob, by_bob), after));
  EXPECT_TRUE(states.locks().local_waits().empty());
}

}  // namespace
}  // namespace braid::nfs4::state::test
