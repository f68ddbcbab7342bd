#include "nfs4/state/clients/client_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/nfs4/clients/client_table_fixture.h"

namespace braid::nfs4::state {
namespace {

using enum nfsstat4;

// RFC 8881 18.35.5: what is known of the name before, what is asked, what comes of it.
enum class Before : std::uint8_t { nothing, unconfirmed, confirmed, confirmed_holding };
enum class After : std::uint8_t { same_id, new_id, error };
struct ExchangeCase {
  Before before;
  bool update;
  bool same_verifier;
  bool same_principal;
  After after;
  nfsstat4 status;
  bool old_survives;
};
constexpr ExchangeCase exchange_cases[] = {
    {Before::nothing, false, true, true, After::new_id, NFS4_OK, false},           // 1
    {Before::nothing, true, true, true, After::error, NFS4ERR_NOENT, false},       // 7
    {Before::unconfirmed, false, true, true, After::new_id, NFS4_OK, false},       // 4
    {Before::unconfirmed, false, false, true, After::new_id, NFS4_OK, false},      // 4
    {Before::unconfirmed, false, true, false, After::new_id, NFS4_OK, false},      // 4
    {Before::unconfirmed, false, false, false, After::new_id, NFS4_OK, false},     // 4
    {Before::unconfirmed, true, true, true, After::error, NFS4ERR_NOENT, true},    // 7
    {Before::unconfirmed, true, false, false, After::error, NFS4ERR_NOENT, true},  // 7
    {Before::confirmed, false, true, true, After::same_id, NFS4_OK, true},         // 2
    {Before::confirmed, false, false, true, After::new_id, NFS4_OK, true},         // 5
    {Before::confirmed, false, true, false, After::new_id, NFS4_OK, false},        // 3, without state
    {Before::confirmed, false, false, false, After::new_id, NFS4_OK, false},       // 3, without state
    {Before::confirmed, true, true, true, After::same_id, NFS4_OK, true},          // 6
    {Before::confirmed, true, false, true, After::error, NFS4ERR_NOT_SAME, true},  // 8
    {Before::confirmed, true, true, false, After::error, NFS4ERR_PERM, true},      // 9
    {Before::confirmed_holding, false, true, false, After::error, NFS4ERR_CLID_INUSE, true},   // 3
    {Before::confirmed_holding, false, false, false, After::error, NFS4ERR_CLID_INUSE, true},  // 3
    {Before::confirmed_holding, false, true, true, After::same_id, NFS4_OK, true},             // 2
    {Before::confirmed_holding, false, false, true, After::new_id, NFS4_OK, true},             // 5
};

TEST_F(ClientTableTest, exchange_id_follows_the_nine_cases) {
  int number = 0;
  for (const ExchangeCase& one : exchange_cases) {
    SCOPED_TRACE(number);
    const std::string owner = "owner " + std::to_string(number++);
    clientid4 old = 0;
    if (one.before == Before::unconfirmed) old = introduce(who(owner)).client;
    if (one.before == Before::confirmed || one.before == Before::confirmed_holding) {
      const SessionId session = confirmed(owner).session;
      old = client_of(session);
      ASSERT_TRUE(table_.destroy_session(session, 0));
    }
    if (one.before == Before::confirmed_holding) holders_.insert(old);

    const auto outcome = table_.exchange_id(
        who(owner, one.same_verifier ? 1 : 2, one.same_principal ? 10 : 11), one.update, now_);
    if (one.after == After::error) {
      ASSERT_FALSE(outcome);
      EXPECT_EQ(outcome.error(), one.status);
    } else {
      ASSERT_TRUE(outcome);
      EXPECT_EQ(outcome->client == old, one.after == After::same_id);
      EXPECT_EQ(outcome->confirmed, one.after == After::same_id);
      EXPECT_EQ(epoch_of(outcome->client), epoch);
    }
    if (old != 0) {
      const auto still = table_.destroy_client(old);
      const bool lives = still || still.error() == NFS4ERR_CLIENTID_BUSY;
      EXPECT_EQ(lives, one.old_survives);
    }
  }
}

TEST_F(ClientTableTest, a_client_that_has_restarted_keeps_its_state_until_the_new_id_is_confirmed) {
  const SessionId old = confirmed("owner", 1).session;
  const ExchangeIdOutcome restarted = introduce(who("owner", 2));
  EXPECT_TRUE(table_.find_session(old));
  EXPECT_TRUE(gone().empty());
  ASSERT_TRUE(table_.create_session(request(restarted.client, restarted.sequence), now_));
  EXPECT_FALSE(table_.find_session(old));
  const auto removed = table_.take_gone();
  ASSERT_EQ(removed.size(), 1U);
  EXPECT_EQ(removed[0].client->id, client_of(old));
  EXPECT_EQ(removed[0].why, ExpiryReason::replaced);
  EXPECT_TRUE(removed[0].client->gone());
}

TEST_F(ClientTableTest, a_name_whose_lease_is_over_may_be_taken_by_another_principal) {
  const clientid4 old = client_of(confirmed("owner").session);
  holders_.insert(old);
  EXPECT_EQ(table_.exchange_id(who("owner", 1, 11), false, now_).error(), NFS4ERR_CLID_INUSE);
  now_ += options_.lease + 1s;
  EXPECT_TRUE(table_.exchange_id(who("owner", 1, 11), false, now_));
  EXPECT_EQ(gone(), std::set<clientid4>{old});
}

TEST_F(ClientTableTest, names_of_4_0_and_later_clients_do_not_mix) {
  const clientid4 later = client_of(confirmed("owner").session);
  const auto set = table_.set_client_id(who("owner", 1, 10, 0), {}, now_);
  ASSERT_TRUE(set && table_.confirm_client_id(set->client, set->confirm, user(10), now_));
  EXPECT_TRUE(table_.find(later, 2));
  EXPECT_TRUE(table_.find(set->client, 0));
  EXPECT_EQ(table_.destroy_client(set->client).error(), NFS4ERR_STALE_CLIENTID);
  EXPECT_EQ(table_.create_session(request(set->client, 1), now_).error(), NFS4ERR_STALE_CLIENTID);
}

TEST_F(ClientTableTest, create_session_counts_and_repeats_itself) {
  const ExchangeIdOutcome client = introduce(who("owner"));
  EXPECT_EQ(client.sequence, 1U);
  EXPECT_EQ(table_.create_session(request(client.client, 0), now_).error(), NFS4ERR_SEQ_MISORDERED);
  EXPECT_EQ(table_.create_session(request(client.client, 2), now_).error(), NFS4ERR_SEQ_MISORDERED);
  const auto first = table_.create_session(request(client.client, 1), now_);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->sequence, 1U);
  const auto again = table_.create_session(request(client.client, 1), now_);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->session, first->session);
  EXPECT_EQ(table_.create_session(request(client.client, 3), now_).error(), NFS4ERR_SEQ_MISORDERED);
  const auto second = table_.create_session(request(client.client, 2), now_);
  ASSERT_TRUE(second);
  EXPECT_NE(second->session, first->session);
  EXPECT_EQ(table_.create_session(request(client.client, 1), now_).error(), NFS4ERR_SEQ_MISORDERED);
}

TEST_F(ClientTableTest, an_error_after_the_sequence_id_was_used_is_repeated_too) {
  options_.sessions_per_client = 1;
  ClientTable table(options_, epoch, {}, [](clientid4) { return false; });
  const clientid4 client = table.exchange_id(who("owner"), false, now_)->client;
  const auto first = table.create_session(request(client, 1), now_);
  ASSERT_TRUE(first);
  EXPECT_EQ(table.create_session(request(client, 2), now_).error(), NFS4ERR_NOSPC);
  ASSERT_TRUE(table.destroy_session(first->session, 0));
  EXPECT_EQ(table.create_session(request(client, 2), now_).error(), NFS4ERR_NOSPC);
  EXPECT_TRUE(table.create_session(request(client, 3), now_));
}

TEST_F(ClientTableTest, any_principal_may_add_sessions_to_a_confirmed_client) {
  const clientid4 client = client_of(confirmed("owner").session);
  EXPECT_TRUE(table_.create_session(request(client, 2, 11), now_));
}

struct AttributesCase {
  const char* what;
  void (*change)(CreateSessionRequest&);
  nfsstat4 status;
};
constexpr AttributesCase attributes_cases[] = {
    {"request", [](CreateSessionRequest& r) { r.fore.request_bytes_max = 20; }, NFS4ERR_TOOSMALL},
    {"response", [](CreateSessionRequest& r) { r.fore.response_bytes_max = 0; }, NFS4ERR_TOOSMALL},
    {"operations", [](CreateSessionRequest& r) { r.fore.operations_max = 0; }, NFS4ERR_TOOSMALL},
    {"slots", [](CreateSessionRequest& r) { r.fore.slots = 0; }, NFS4ERR_TOOSMALL},
    {"back request", [](CreateSessionRequest& r) { r.back.request_bytes_max = 10; }, NFS4ERR_TOOSMALL},
    {"back operations", [](CreateSessionRequest& r) { r.back.operations_max = 1; }, NFS4ERR_TOOSMALL},
    {"no back channel", [](CreateSessionRequest& r) { r.back = {}; }, NFS4_OK},
    {"back channel of nothing",
     [](CreateSessionRequest& r) {
       r.back = {};
       r.flags = CREATE_SESSION4_FLAG_CONN_BACK_CHAN;
     },
     NFS4ERR_TOOSMALL},
    {"unknown flag", [](CreateSessionRequest& r) { r.flags = 8; }, NFS4ERR_INVAL},
    {"small response", [](CreateSessionRequest& r) { r.fore.response_bytes_max = 400; }, NFS4_OK},
    {"no cache", [](CreateSessionRequest& r) { r.fore.cached_bytes_max = 0; }, NFS4_OK},
};

TEST_F(ClientTableTest, wrong_attributes_use_no_sequence_id_up) {
  for (const AttributesCase& one : attributes_cases) {
    SCOPED_TRACE(one.what);
    const ExchangeIdOutcome client = introduce(who(one.what));
    CreateSessionRequest wrong = request(client.client, client.sequence);
    one.change(wrong);
    const auto made = table_.create_session(wrong, now_);
    EXPECT_EQ(made ? NFS4_OK : made.error(), one.status);
    if (!made) {
      EXPECT_TRUE(table_.create_session(request(client.client, client.sequence), now_));
    }
  }
}

TEST_F(ClientTableTest, more_than_we_have_is_reduced) {
  const ExchangeIdOutcome client = introduce(who("owner"));
  CreateSessionRequest greedy = request(client.client, client.sequence);
  greedy.flags = CREATE_SESSION4_FLAG_PERSIST | CREATE_SESSION4_FLAG_CONN_RDMA;
  greedy.fore = greedy.back = {.request_bytes_max = 0xffffffff,
                               .response_bytes_max = 0xffffffff,
                               .cached_bytes_max = 0xffffffff,
                               .operations_max = 0xffffffff,
                               .slots = 0xffffffff};
  const auto made = table_.create_session(greedy, now_);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->fore, options_.fore);
  EXPECT_EQ(made->back, options_.back);
  EXPECT_EQ(made->flags, 0U);
}

TEST_F(ClientTableTest, memory_for_replies_is_shared_and_ends) {
  options_.reply_bytes_max = 256 * base::KiB;
  ClientTable table(options_, epoch, {}, [](clientid4) { return false; });
  const auto client = table.exchange_id(who("owner"), false, now_);
  std::uint32_t slots_before = UINT32_MAX;
  std::uint32_t sessions = 0;
  std::vector<SessionId> made_sessions;
  nfsstat4 last = NFS4_OK;
  for (std::uint32_t sequence = 1; sequence <= options_.sessions_per_client; ++sequence) {
    CreateSessionRequest wish = request(client->client, sequence);
    wish.fore.cached_bytes_max = 8192;
    wish.fore.slots = 128;
    const auto made = table.create_session(wish, now_);
    if (!made) {
      last = made.error();
      break;
    }
    EXPECT_LE(made->fore.slots, slots_before);
    EXPECT_GE(made->fore.slots, 1U);
    slots_before = made->fore.slots;
    made_sessions.push_back(made->session);
    ++sessions;
  }
  EXPECT_GT(sessions, 4U);
  EXPECT_EQ(last, NFS4ERR_DELAY);
  // With the same sequence id it is asked for again.
  ASSERT_TRUE(table.destroy_session(made_sessions.front(), 0));
  EXPECT_TRUE(table.create_session(request(client->client, sessions + 1), now_));
}

TEST_F(ClientTableTest, sessions_are_asked_for_a_fair_share_of_slots_while_memory_for_replies_is_short) {
  options_.reply_bytes_max = base::MiB;  // 512 slots of 2 KiB
  options_.sessions_per_client = 1000;
  ClientTable table(options_, epoch, {}, [](clientid4) { return false; });
  const auto client = table.exchange_id(who("owner"), false, now_);
  std::vector<SessionRef> sessions;
  std::uint32_t sequence = 0;
  const auto add = [&] {
    const auto made = table.create_session(request(client->client, sequence + 1), now_);
    if (!made) return false;
    ++sequence;
    sessions.push_back(table.find_session(made->session));
    return true;
  };
  const auto slots = [](Session& session, std::uint32_t next) {
    const auto start = session.start({.slot = 0, .sequence = next}, nullptr);
    EXPECT_EQ(session.finish(0, {}), nullptr);
    return std::pair(start->highest_slot + 1, start->target_slot + 1);
  };
  ASSERT_TRUE(add());
  table.sweep(now_);
  EXPECT_EQ(slots(*sessions[0], 1), std::pair(8U, 8U));
  while (add()) continue;
  EXPECT_GT(sessions.size(), 100U);
  table.sweep(now_);
  const auto share = static_cast<std::uint32_t>(384 / sessions.size());
  const auto shrinking = table.take_shrinking();
  EXPECT_NE(std::ranges::find(shrinking, sessions[0]), shrinking.end());
  EXPECT_EQ(slots(*sessions[0], 2), std::pair(8U, share));
  EXPECT_EQ(slots(*sessions[0], 3), std::pair(share, share)) << "it has complied";
  ASSERT_TRUE(table.destroy_session(sessions[1]->id, 0));
  EXPECT_TRUE(add()) << "what it gave back serves another";
  for (std::size_t i = 2; i < sessions.size(); ++i) {
    EXPECT_TRUE(table.destroy_session(sessions[i]->id, 0));
  }
  table.sweep(now_);
  // Its use makes it grow again, up to what the client once wanted.
  std::uint32_t last = share - 1;
  for (std::uint32_t before = 8; last < 7 && last != before;) {
    before = last;
    const SlotRequest next{.slot = last, .sequence = last == 0 ? 4U : 1U, .highest_slot = last};
    const auto start = sessions[0]->start(next, nullptr);
    ASSERT_TRUE(start);
    EXPECT_EQ(sessions[0]->finish(last, {}), nullptr);
    last = start->highest_slot;
  }
  EXPECT_EQ(last, 7U);
}

TEST_F(ClientTableTest, silence_and_its_end_are_noted_once) {
  const clientid4 holder = client_of(confirmed("holder").session);
  holders_ = {holder};
  table_.sweep(now_);
  EXPECT_TRUE(table_.take_silences().empty());
  now_ += options_.lease + 1s;
  table_.sweep(now_);
  const auto silent = table_.take_silences();
  ASSERT_EQ(silent.size(), 1U);
  EXPECT_EQ(silent[0].client->id, holder);
  EXPECT_FALSE(silent[0].over);
  table_.sweep(now_);
  EXPECT_TRUE(table_.take_silences().empty());
  EXPECT_EQ(table_.silent_count(), 1U);
  table_.find_any(holder)->renew(now_);
  table_.sweep(now_);
  const auto back = table_.take_silences();
  ASSERT_EQ(back.size(), 1U);
  EXPECT_TRUE(back[0].over);
  EXPECT_EQ(table_.silent_count(), 0U);
}

TEST_F(ClientTableTest, a_departure_has_its_reason) {
  const clientid4 idle = client_of(confirmed("idle").session);
  const SessionId leaving = confirmed("leaving").session;
  const clientid4 evicted = client_of(confirmed("evicted").session);
  ASSERT_TRUE(table_.destroy_session(leaving, 0));
  ASSERT_TRUE(table_.destroy_client(client_of(leaving)));
  ASSERT_TRUE(table_.remove(evicted, ExpiryReason::evicted));
  now_ += options_.lease + 1s;
  table_.sweep(now_);
  std::map<clientid4, ExpiryReason> reasons;
  for (const auto& [client, why] : table_.take_gone()) reasons[client->id] = why;
  EXPECT_EQ(reasons, (std::map<clientid4, ExpiryReason>{{idle, ExpiryReason::expired},
                                                        {client_of(leaving), ExpiryReason::left},
                                                        {evicted, ExpiryReason::evicted}}));
}

TEST_F(ClientTableTest, reports_come_in_pages) {
  std::vector<clientid4> ids;
  std::vector<SessionId> sessions;
  for (const char* owner : {"a", "b\n", "c"}) {
    sessions.push_back(confirmed(owner).session);
    ids.push_back(client_of(sessions.back()));
  }
  // Ids come in an order of their own.
  const clientid4 odd = ids[1];
  std::ranges::sort(sessions);
  std::ranges::sort(ids);
  now_ += 5s;
  const auto first = table_.report(now_, 0, 2);
  ASSERT_EQ(first.size(), 2U);
  EXPECT_EQ(first[0].client, ids[0]);
  EXPECT_EQ(first[0].age, 5s);
  EXPECT_EQ(first[0].sessions, 1U);
  EXPECT_EQ(first[0].peer, "192.0.2.1:700");
  EXPECT_EQ(table_.report(now_, odd - 1, 1).front().owner, "b\\x0a");
  EXPECT_EQ(first[1].client, ids[1]);
  const auto rest = table_.report(now_, ids[1], 2);
  ASSERT_EQ(rest.size(), 1U);
  EXPECT_EQ(rest[0].client, ids[2]);
  EXPECT_TRUE(table_.report(now_, ids[2], 2).empty());
  const auto some = table_.report_sessions({}, 2);
  ASSERT_EQ(some.size(), 2U);
  EXPECT_EQ(some[1].session, sessions[1]);
  EXPECT_EQ(some[1].peer, "192.0.2.1:700");
  EXPECT_EQ(some[1].minor_version, 1U);
  EXPECT_EQ(some[1].created, now_ - 5s);
  EXPECT_EQ(some[1].slots.slots, 8U);
  EXPECT_EQ(table_.report_sessions(sessions[1], 2).size(), 1U);
}

TEST_F(ClientTableTest, a_client_has_so_many_sessions) {
  options_.sessions_per_client = 3;
  ClientTable table(options_, epoch, {}, [](clientid4) { return false; });
  const auto client = table.exchange_id(who("owner"), false, now_);
  for (std::uint32_t i = 1; i <= 3; ++i) EXPECT_TRUE(table.create_session(request(client->client, i), now_));
  EXPECT_EQ(table.create_session(request(client->client, 4), now_).error(), NFS4ERR_NOSPC);
}

TEST_F(ClientTableTest, a_session_with_running_requests_is_not_destroyed) {
  const SessionId id = confirmed("owner").session;
  const SessionRef session = table_.find_session(id);
  ASSERT_TRUE(session->start({.slot = 0, .sequence = 1}, nullptr));
  EXPECT_EQ(table_.destroy_session(id, 0).error(), NFS4ERR_DELAY);
  EXPECT_TRUE(table_.destroy_session(id, 1));
  EXPECT_EQ(table_.destroy_session(id, 0).error(), NFS4ERR_BADSESSION);
  EXPECT_EQ(session->start({.slot = 1, .sequence = 1}, nullptr).error(), NFS4ERR_DEADSESSION);
  EXPECT_EQ(session->finish(0, {}), nullptr);
}

TEST_F(ClientTableTest, a_client_is_destroyed_when_it_has_neither_sessions_nor_state) {
  const SessionId session = confirmed("owner").session;
  const clientid4 client = client_of(session);
  holders_.insert(client);
  EXPECT_EQ(table_.destroy_client(client).error(), NFS4ERR_CLIENTID_BUSY);
  ASSERT_TRUE(table_.destroy_session(session, 0));
  EXPECT_EQ(table_.destroy_client(client).error(), NFS4ERR_CLIENTID_BUSY);
  holders_.clear();
  EXPECT_TRUE(table_.destroy_client(client));
  EXPECT_EQ(table_.destroy_client(client).error(), NFS4ERR_STALE_CLIENTID);
  EXPECT_TRUE(table_.destroy_client(introduce(who("unconfirmed")).client));
  EXPECT_EQ(table_.destroy_client(0).error(), NFS4ERR_STALE_CLIENTID);
}

TEST_F(ClientTableTest, ids_of_other_runs_are_stale_and_of_removed_clients_expired) {
  const clientid4 client = client_of(confirmed("owner").session);
  EXPECT_TRUE(table_.find(client, 1));
  EXPECT_EQ(table_.find(0, 1).error(), NFS4ERR_STALE_CLIENTID);
  EXPECT_EQ(table_.find(client - (clientid4{1} << 32), 1).error(), NFS4ERR_STALE_CLIENTID);
  EXPECT_EQ(table_.find(client + 1, 1).error(), NFS4ERR_STALE_CLIENTID);
  EXPECT_EQ(table_.find(introduce(who("unconfirmed")).client, 1).error(), NFS4ERR_STALE_CLIENTID);
  EXPECT_TRUE(table_.remove(client, ExpiryReason::evicted));
  EXPECT_FALSE(table_.remove(client, ExpiryReason::evicted));
  EXPECT_EQ(table_.find(client, 1).error(), NFS4ERR_EXPIRED);
  EXPECT_EQ(table_.find_any(client), nullptr);
  EXPECT_EQ(gone(), std::set<clientid4>{client});
}

TEST_F(ClientTableTest, ids_of_the_other_kind_are_unknown) {
  const clientid4 later = client_of(confirmed("owner").session);
  const auto set = table_.set_client_id(who("owner", 1, 10, 0), {}, now_);
  ASSERT_TRUE(set && table_.confirm_client_id(set->client, set->confirm, user(10), now_));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(table_.find(later, 0).error(), NFS4ERR_STALE_CLIENTID);
    EXPECT_EQ(table_.find(set->client, 1).error(), NFS4ERR_STALE_CLIENTID);
    EXPECT_EQ(table_.find(set->client, 2).error(), NFS4ERR_STALE_CLIENTID);
    // Neither when they are gone.
    table_.remove(later, ExpiryReason::evicted);
    table_.remove(set->client, ExpiryReason::evicted);
  }
}

TEST_F(ClientTableTest, silent_clients_go_when_they_hold_nothing_or_courtesy_ends) {
  const clientid4 idle = client_of(confirmed("idle").session);
  const clientid4 holder = client_of(confirmed("holder").session);
  const clientid4 lively = client_of(confirmed("lively").session);
  const clientid4 unconfirmed = introduce(who("unconfirmed")).client;
  holders_ = {holder};
  now_ += options_.lease;
  table_.sweep(now_);
  EXPECT_TRUE(gone().empty());
  EXPECT_EQ(table_.longest_silent(now_), nullptr);
  table_.find_any(lively)->renew(now_);
  now_ += 1s;
  table_.sweep(now_);
  EXPECT_EQ(gone(), std::set<clientid4>{idle});
  EXPECT_EQ(table_.create_session(request(unconfirmed, 1), now_).error(), NFS4ERR_STALE_CLIENTID);
  ASSERT_NE(table_.longest_silent(now_), nullptr);
  EXPECT_EQ(table_.longest_silent(now_)->id, holder);
  now_ += options_.courtesy;
  table_.find_any(lively)->renew(now_);
  table_.sweep(now_);
  EXPECT_EQ(gone(), std::set<clientid4>{holder});
}

TEST_F(ClientTableTest, a_courteous_client_that_comes_back_has_its_lease_again) {
  const clientid4 holder = client_of(confirmed("holder").session);
  holders_ = {holder};
  now_ += options_.lease + 10min;
  table_.sweep(now_);
  const auto client = table_.find_any(holder);
  ASSERT_TRUE(client);
  EXPECT_TRUE(client->lease_over(now_, options_.lease));
  client->renew(now_);
  EXPECT_FALSE(client->lease_over(now_, options_.lease));
  EXPECT_EQ(table_.longest_silent(now_), nullptr);
}

TEST_F(ClientTableTest, half_open_clients_push_out_the_oldest_of_their_kind_only) {
  options_.unconfirmed_max = 10;
  ClientTable table(options_, epoch, {}, [](clientid4) { return false; });
  const auto settled = table.exchange_id(who("settled"), false, now_);
  ASSERT_TRUE(table.create_session(request(settled->client, 1), now_));
  std::vector<clientid4> flood;
  for (int i = 0; i < 1000; ++i)
    flood.push_back(table.exchange_id(who("flood " + std::to_string(i)), false, now_)->client);
  EXPECT_TRUE(table.find_any(settled->client));
  EXPECT_EQ(table.create_session(request(flood[989], 1), now_).error(), NFS4ERR_STALE_CLIENTID);
  EXPECT_TRUE(table.create_session(request(flood[990], 1), now_));
}

TEST_F(ClientTableTest, confirmed_clients_make_room_by_their_leases) {
  options_.clients_max = 2;
  std::set<clientid4> holders;
  ClientTable table(options_, epoch, {}, [&](clientid4 id) { return holders.contains(id); });
  const auto add = [&](std::string_view owner) {
    const auto client = table.exchange_id(who(owner), false, now_);
    const auto session = table.create_session(request(client->client, 1), now_);
    return std::pair(client->client, session ? NFS4_OK : session.error());
  };
  const clientid4 first = add("a").first;
  now_ += 1s;
  const auto second = add("b");
  EXPECT_EQ(second.second, NFS4_OK);
  holders = {first, second.first};
  EXPECT_EQ(add("c").second, NFS4ERR_DELAY);
  now_ += options_.lease;
  EXPECT_EQ(add("d").second, NFS4_OK);
  ASSERT_EQ(table.take_gone().front().client->id, first);
}

}  // namespace
}  // namespace braid::nfs4::state
