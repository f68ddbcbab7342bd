#include "nfs4/state/slots.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <string_view>

#include "nfs4/state/session.h"

namespace braid::nfs4::state {
namespace {

using enum nfsstat4;

rpc::KeptReply kept(std::string_view text) {
  auto data = std::make_shared_for_overwrite<std::byte[]>(text.size());
  std::memcpy(data.get(), text.data(), text.size());
  return {std::move(data), static_cast<std::uint32_t>(text.size())};
}

nfsstat4 status_of(const base::Result<SlotStart, nfsstat4>& start) { return start ? NFS4_OK : start.error(); }

// RFC 8881 2.10.6.1, 18.46.3: what SEQUENCE answers, after slot 1 of four has seen sequence ids 1 to 3, the
// last of which is in state `last`.
enum class Last : std::uint8_t { running, kept, uncached };
struct Case {
  Last last;
  SlotRequest request;
  nfsstat4 status;
  SlotVerdict verdict;
};
constexpr SlotRequest ask(std::uint32_t slot, std::uint32_t sequence, std::uint32_t highest = 3,
                          std::uint64_t fingerprint = 7) {
  return {.slot = slot, .sequence = sequence, .highest_slot = highest, .fingerprint = fingerprint};
}
constexpr Case cases[] = {
    {Last::kept, ask(1, 4), NFS4_OK, SlotVerdict::execute},
    {Last::kept, ask(1, 3), NFS4_OK, SlotVerdict::replay},
    {Last::uncached, ask(1, 3), NFS4_OK, SlotVerdict::uncached},
    {Last::running, ask(1, 3), NFS4_OK, SlotVerdict::wait},
    {Last::kept, ask(1, 3, 3, 8), NFS4ERR_SEQ_FALSE_RETRY, {}},
    {Last::running, ask(1, 3, 3, 8), NFS4ERR_DELAY, {}},
    {Last::kept, ask(1, 2), NFS4ERR_SEQ_MISORDERED, {}},
    {Last::kept, ask(1, 5), NFS4ERR_SEQ_MISORDERED, {}},
    {Last::kept, ask(1, 0), NFS4ERR_SEQ_MISORDERED, {}},
    {Last::running, ask(1, 4), NFS4ERR_SEQ_MISORDERED, {}},
    {Last::kept, ask(0, 1), NFS4_OK, SlotVerdict::execute},
    {Last::kept, ask(0, 0), NFS4ERR_SEQ_MISORDERED, {}},
    {Last::kept, ask(3, 1), NFS4_OK, SlotVerdict::execute},
    {Last::kept, ask(3, 2), NFS4ERR_SEQ_MISORDERED, {}},
    {Last::kept, ask(4, 1, 4), NFS4ERR_BADSLOT, {}},
    {Last::kept, ask(0xffffffff, 1), NFS4ERR_BADSLOT, {}},
    {Last::kept, ask(1, 4, 4), NFS4ERR_BAD_HIGH_SLOT, {}},
};

TEST(SlotTable, every_sequence_id_gets_its_answer) {
  for (const Case& one : cases) {
    SlotTable table(4);
    for (std::uint32_t sequence = 1; sequence <= 3; ++sequence) {
      ASSERT_EQ(status_of(table.start(ask(1, sequence), nullptr)), NFS4_OK);
      if (sequence == 3 && one.last == Last::running) break;
      ASSERT_EQ(table.finish(1, one.last == Last::kept ? kept("reply") : rpc::KeptReply()), nullptr);
    }
    SlotWaiter waiter;
    const auto start = table.start(one.request, &waiter);
    EXPECT_EQ(status_of(start), one.status)
        << "slot " << one.request.slot << " sequence " << one.request.sequence;
    if (!start) continue;
    EXPECT_EQ(start->verdict, one.verdict);
    EXPECT_EQ(start->highest_slot, 3U);
    if (start->verdict == SlotVerdict::replay) {
      EXPECT_EQ(base::text_of(start->reply.view()), "reply");
    }
  }
}

TEST(SlotTable, an_error_changes_nothing) {
  SlotTable table(2);
  ASSERT_TRUE(table.start(ask(0, 1, 1), nullptr));
  (void)table.finish(0, kept("a"));
  EXPECT_FALSE(table.start(ask(0, 3, 1), nullptr));
  EXPECT_FALSE(table.start(ask(0, 1, 1, 99), nullptr));
  EXPECT_EQ(table.start(ask(0, 1, 1), nullptr)->verdict, SlotVerdict::replay);
  EXPECT_EQ(table.start(ask(0, 2, 1), nullptr)->verdict, SlotVerdict::execute);
}

TEST(SlotTable, a_repeated_request_waits_for_the_first_and_then_gets_its_reply) {
  SlotTable table(1);
  ASSERT_TRUE(table.start(ask(0, 1, 0), nullptr));
  SlotWaiter first;
  SlotWaiter second;
  EXPECT_EQ(table.start(ask(0, 1, 0), &first)->verdict, SlotVerdict::wait);
  EXPECT_EQ(table.start(ask(0, 1, 0), &second)->verdict, SlotVerdict::wait);
  SlotWaiter* waiters = table.finish(0, kept("reply"));
  ASSERT_EQ(waiters, &second);
  ASSERT_EQ(waiters->next, &first);
  EXPECT_EQ(first.next, nullptr);
  EXPECT_EQ(table.start(ask(0, 1, 0), &first)->verdict, SlotVerdict::replay);
}

TEST(SlotTable, only_so_many_wait_for_one_request) {
  SlotTable table(1);
  ASSERT_TRUE(table.start(ask(0, 1, 0), nullptr));
  std::array<SlotWaiter, 8> waiters;
  std::size_t waiting = 0;
  for (SlotWaiter& waiter : waiters)
    if (table.start(ask(0, 1, 0), &waiter)) ++waiting;
  EXPECT_LT(waiting, waiters.size());
  EXPECT_EQ(status_of(table.start(ask(0, 1, 0), nullptr)), NFS4ERR_DELAY);
  std::size_t woken = 0;
  for (const SlotWaiter* one = table.finish(0, {}); one != nullptr; one = one->next) ++woken;
  EXPECT_EQ(woken, waiting);
}

TEST(SlotTable, a_retired_table_takes_no_requests_but_ends_running_ones) {
  SlotTable table(2);
  ASSERT_TRUE(table.start(ask(0, 1, 1), nullptr));
  EXPECT_FALSE(table.retire(0));
  ASSERT_TRUE(table.start(ask(1, 1, 1), nullptr));
  EXPECT_FALSE(table.retire(1));
  (void)table.finish(1, {});
  EXPECT_TRUE(table.retire(1));
  EXPECT_EQ(status_of(table.start(ask(1, 2, 1), nullptr)), NFS4ERR_DEADSESSION);
  EXPECT_EQ(table.finish(0, {}), nullptr);
}

TEST(SlotTable, memory_is_taken_for_used_slots_and_given_back_beyond_the_target) {
  SlotTable table(64);
  for (std::uint32_t slot = 0; slot < 8; ++slot) {
    ASSERT_TRUE(table.start(ask(slot, 1, 63), nullptr));
    (void)table.finish(slot, kept("0123456789"));
  }
  EXPECT_EQ(table.stats().used, 8U);
  EXPECT_EQ(table.stats().kept_bytes, 80U);
  table.set_target(2);
  // The client still says that it uses slot 63: it may ask again for any reply.
  ASSERT_EQ(table.start(ask(0, 2, 63), nullptr)->target_slot, 1U);
  (void)table.finish(0, kept("0123456789"));
  EXPECT_EQ(table.stats().kept_bytes, 80U);
  ASSERT_TRUE(table.start(ask(0, 3, 1), nullptr));
  (void)table.finish(0, kept("0123456789"));
  EXPECT_EQ(table.stats().kept_bytes, 20U);
}

TEST(SlotTable, a_target_stays_between_one_slot_and_all) {
  SlotTable table(4);
  table.set_target(0);
  EXPECT_EQ(table.start(ask(0, 1), nullptr)->target_slot, 0U);
  table.set_target(100);
  EXPECT_EQ(table.start(ask(1, 1), nullptr)->target_slot, 3U);
}

SessionOptions with_back_slots(std::uint32_t slots) {
  SessionOptions options;
  options.fore.slots = 1;
  options.back.slots = slots;
  return options;
}

using Next = Session::Next;

TEST(BackSlots, each_is_used_by_one_call_at_a_time) {
  Session session({}, nullptr, with_back_slots(2));
  const auto first = session.take_back_slot();
  const auto second = session.take_back_slot();
  ASSERT_TRUE(first && second);
  EXPECT_NE(first->slot, second->slot);
  EXPECT_EQ(second->highest, 1U);
  EXPECT_FALSE(session.take_back_slot());
  session.give_back_slot(*first, Next::following, std::nullopt);
  EXPECT_EQ(session.take_back_slot()->slot, first->slot);
}

TEST(BackSlots, the_sequence_id_follows_what_the_client_has_seen) {
  Session session({}, nullptr, with_back_slots(1));
  const auto after = [&](Next next) {
    const auto slot = session.take_back_slot();
    session.give_back_slot(*slot, next, std::nullopt);
    const auto later = session.take_back_slot();
    session.give_back_slot(*later, Next::same, std::nullopt);
    return later->sequence;
  };
  EXPECT_EQ(after(Next::same), 1U);
  EXPECT_EQ(after(Next::following), 2U);
  EXPECT_EQ(after(Next::following), 3U);
  EXPECT_EQ(after(Next::first), 1U);
}

TEST(BackSlots, the_client_decides_how_many_are_used) {
  Session session({}, nullptr, with_back_slots(4));
  const auto first = session.take_back_slot();
  session.give_back_slot(*first, Next::following, 0);
  const auto only = session.take_back_slot();
  EXPECT_FALSE(session.take_back_slot());
  session.give_back_slot(*only, Next::following, 0xffffffff);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(session.take_back_slot());
}

TEST(BackSlots, a_session_without_back_channel_has_none) {
  Session session({}, nullptr, with_back_slots(0));
  EXPECT_FALSE(session.take_back_slot());
  EXPECT_FALSE(session.has_back_channel());
  EXPECT_FALSE(session.back_health().lost);
}

}  // namespace
}  // namespace braid::nfs4::state
