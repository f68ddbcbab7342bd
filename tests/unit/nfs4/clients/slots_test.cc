#include "nfs4/state/clients/slots.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <string_view>

#include "nfs4/state/clients/session.h"

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

SlotStart went_through(SlotTable& table, const SlotRequest& request) {
  const auto start = table.start(request, nullptr);
  EXPECT_EQ(status_of(start), NFS4_OK);
  if (!start) return {};
  EXPECT_EQ(table.finish(request.slot, kept("reply")), nullptr);
  return *start;
}

// RFC 8881 2.10.6.1: slots end when the client has seen that they shall, and uses them no more.
TEST(SlotTable, slots_end_once_their_client_has_seen_the_target_and_keeps_to_it) {
  const auto budget = std::make_shared<ReplyBudget>(800);
  ASSERT_TRUE(budget->take(800));
  SlotTable table({.slots = 8, .slots_max = 8, .reply_bytes_max = 100, .budget = budget});
  went_through(table, ask(0, 1, 7));
  went_through(table, ask(5, 1, 7));
  table.set_target(2);
  // The client cannot know of it yet.
  EXPECT_EQ(went_through(table, ask(0, 2, 1)).highest_slot, 7U);
  // It knows, and has a request on slot 5 under way.
  EXPECT_EQ(went_through(table, ask(0, 3, 5)).highest_slot, 7U);
  EXPECT_EQ(status_of(table.start(ask(5, 2, 5), nullptr)), NFS4_OK);
  EXPECT_EQ(went_through(table, ask(0, 4, 1)).highest_slot, 7U) << "slot 5 still runs";
  EXPECT_EQ(table.finish(5, {}), nullptr);
  EXPECT_EQ(budget->left(), 0U);
  const SlotStart start = went_through(table, ask(0, 5, 1));
  EXPECT_EQ(start.highest_slot, 1U);
  EXPECT_EQ(start.target_slot, 1U);
  EXPECT_EQ(budget->left(), 600U);
  EXPECT_EQ(status_of(table.start(ask(5, 3, 5), nullptr)), NFS4ERR_BADSLOT);
  // Sent before the client saw the target, and late: its sa_highest_slotid is no mistake.
  EXPECT_EQ(status_of(table.start(ask(1, 1, 7), nullptr)), NFS4_OK);
}

TEST(SlotTable, a_client_that_uses_its_last_slot_gets_more_as_long_as_there_is_memory) {
  const auto budget = std::make_shared<ReplyBudget>(1600);
  ASSERT_TRUE(budget->take(1000));
  SlotTable table({.slots = 10, .slots_max = 12, .reply_bytes_max = 100, .budget = budget});
  EXPECT_EQ(went_through(table, ask(8, 1, 8)).highest_slot, 9U) << "it has not used all";
  EXPECT_EQ(went_through(table, ask(9, 1, 9)).highest_slot, 11U);
  EXPECT_EQ(budget->left(), 400U);
  EXPECT_EQ(went_through(table, ask(11, 1, 11)).highest_slot, 11U) << "it wanted no more than that";
  SlotTable other({.slots = 1, .slots_max = 12, .reply_bytes_max = 100, .budget = budget});
  ASSERT_TRUE(budget->take(100));
  EXPECT_EQ(went_through(other, ask(0, 1, 0)).highest_slot, 0U) << "memory is scarce";
}

TEST(SlotTable, a_slot_that_comes_back_counts_on_or_from_one) {
  for (const std::uint32_t next : {1U, 4U}) {
    SlotTable table({.slots = 2, .slots_max = 2, .reply_bytes_max = 100, .budget = nullptr});
    for (std::uint32_t sequence = 1; sequence <= 3; ++sequence) went_through(table, ask(1, sequence, 1));
    went_through(table, ask(0, 1, 1));
    table.set_target(1);
    went_through(table, ask(0, 2, 1));
    EXPECT_EQ(went_through(table, ask(0, 3, 0)).highest_slot, 1U)
        << "it grew at once: its only slot was used";
    EXPECT_EQ(status_of(table.start(ask(1, 7, 1), nullptr)), NFS4ERR_SEQ_MISORDERED);
    EXPECT_EQ(went_through(table, ask(1, next, 1)).target_slot, 1U);
    EXPECT_EQ(table.start(ask(1, next, 1), nullptr)->verdict, SlotVerdict::replay);
  }
}

TEST(SlotTable, memory_goes_back_when_the_session_ends_and_once_only) {
  const auto budget = std::make_shared<ReplyBudget>(1000);
  ASSERT_TRUE(budget->take(400));
  {
    SlotTable table({.slots = 4, .slots_max = 4, .reply_bytes_max = 100, .budget = budget});
    EXPECT_TRUE(table.retire(0));
    EXPECT_EQ(budget->left(), 1000U);
    EXPECT_TRUE(table.retire(0));
  }
  EXPECT_EQ(budget->left(), 1000U);
  EXPECT_FALSE(budget->take(1001));
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
  EXPECT_FALSE(session.back_health().down());
}

}  // namespace
}  // namespace braid::nfs4::state
