// Delegations on States: who gets one, and who must give it back.
#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "tests/unit/nfs4/state/opens_fixture.h"

namespace braid::nfs4::state::test {
namespace {

class DelegationsTest : public StatesTest {
 protected:
  explicit DelegationsTest(const StateLimits& limits = {}) : StatesTest(limits) {}
  std::optional<stateid4> given(const OpenAnswer& answer) {
    DelegationRequest request;
    request.type = *answer.delegation;
    request.now = now;
    return states.delegations().give(answer, request);
  }
  std::optional<stateid4> delegated(const ClientRef& client, const Share& share, DelegationWish wish,
                                    const vfs::FileHandle& file = handle(1)) {
    const auto answer = open(client, "o", share, file, wish);
    if (!answer || !answer->delegation) return std::nullopt;
    return given(*answer);
  }
};

TEST_F(DelegationsTest, readers_share_read_delegations_and_a_writer_has_them_recalled) {
  const auto first = delegated(alice, reads, DelegationWish::any);
  ASSERT_TRUE(first);
  opened(bob, "b", reads);
  EXPECT_TRUE(after.recalls.empty());
  const auto refused = open(bob, "b", writes);
  EXPECT_EQ(status_of(refused), NFS4ERR_DELAY);
  EXPECT_EQ(refused.error().blockers.front(), alice);
  ASSERT_EQ(after.recalls.size(), 1U);
  EXPECT_EQ(after.recalls[0].id.other, first->other);
  EXPECT_EQ(status_of(open(bob, "b", writes)), NFS4ERR_DELAY);
  EXPECT_EQ(after.recalls.size(), 1U) << "one recall is enough";
  EXPECT_EQ(status_of(states.delegations().give_back(use(alice, *first), after)), NFS4_OK);
  EXPECT_EQ(status_of(open(bob, "b", writes)), NFS4_OK);
}

TEST_F(DelegationsTest, a_write_delegation_is_for_the_only_client_and_comes_back_for_any_open) {
  const auto delegation = delegated(alice, reads_and_writes, DelegationWish::any);
  ASSERT_TRUE(delegation);
  EXPECT_EQ(io(alice, *delegation, share_write), NFS4_OK);
  EXPECT_EQ(status_of(open(alice, "another", reads_and_writes)), NFS4_OK)
      << "its holder may open as it likes";
  EXPECT_EQ(status_of(open(bob, "b", reads)), NFS4ERR_DELAY);
  EXPECT_EQ(io(bob, anonymous_stateid(), share_read), NFS4ERR_DELAY);
}

TEST_F(DelegationsTest, none_is_given_against_opens_of_others_or_soon_after_a_recall) {
  opened(bob, "b", reads_and_writes);
  EXPECT_FALSE(delegated(alice, reads, DelegationWish::any));
  EXPECT_FALSE(delegated(alice, reads_and_writes, DelegationWish::write));
  const auto contended = open(alice, "o", reads, handle(2), DelegationWish::read);
  ASSERT_TRUE(contended->delegation);
  const auto id = given(*contended);
  states.delegations().recall_all(handle(2), now, after);
  ASSERT_EQ(status_of(states.delegations().give_back(use(alice, *id, handle(2)), after)), NFS4_OK);
  EXPECT_FALSE(open(alice, "o", reads, handle(2), DelegationWish::read)->delegation);
  now += states.limits().contention;
  EXPECT_TRUE(open(alice, "o", reads, handle(2), DelegationWish::read)->delegation);
}

TEST_F(DelegationsTest, one_that_is_not_returned_is_revoked_and_stays_to_be_freed) {
  const auto id = delegated(alice, reads, DelegationWish::read);
  states.delegations().recall_all(handle(1), now, after);
  EXPECT_EQ(states.delegations().revoke_unreturned(now - 1ns, after), 0U);
  EXPECT_EQ(states.delegations().revoke_unreturned(now, after), 1U);
  EXPECT_EQ(io(alice, *id, share_read), NFS4ERR_DELEG_REVOKED);
  EXPECT_EQ(states.test(*id, *alice), NFS4ERR_DELEG_REVOKED);
  EXPECT_NE(alice->status() & SEQ4_STATUS_RECALLABLE_STATE_REVOKED, 0U);
  EXPECT_EQ(status_of(open(bob, "b", writes)), NFS4_OK);
  EXPECT_EQ(status_of(states.free(*id, *alice, after)), NFS4_OK);
  EXPECT_EQ(alice->status() & SEQ4_STATUS_RECALLABLE_STATE_REVOKED, 0U);
  EXPECT_EQ(states.test(*id, *alice), NFS4ERR_BAD_STATEID);
}

TEST_F(DelegationsTest, a_change_by_another_client_has_delegations_recalled) {
  ASSERT_TRUE(delegated(alice, reads, DelegationWish::read));
  EXPECT_EQ(status_of(states.delegations().break_for(handle(1), alice.get(), true, now, after)), NFS4_OK);
  EXPECT_EQ(status_of(states.delegations().break_for(handle(1), bob.get(), false, now, after)), NFS4_OK);
  EXPECT_TRUE(after.recalls.empty());
  EXPECT_EQ(status_of(states.delegations().break_for(handle(1), bob.get(), true, now, after)), NFS4ERR_DELAY);
  EXPECT_EQ(after.recalls.size(), 1U);
}

struct RefusalCase {
  const char* what;
  Share theirs;  // what bob has open; no access: nothing
  Share mine;
  DelegationWish wish;
  std::optional<open_delegation_type4> given;
  why_no_delegation4 why = why_no_delegation4::WND4_NOT_WANTED;
};

TEST_F(DelegationsTest, the_wish_and_the_opens_of_others_decide) {
  using enum open_delegation_type4;
  using enum why_no_delegation4;
  const std::array cases{
      RefusalCase{"a reader alone", {}, reads, DelegationWish::any, OPEN_DELEGATE_READ},
      RefusalCase{"a writer alone", {}, reads_and_writes, DelegationWish::any, OPEN_DELEGATE_WRITE},
      RefusalCase{"no wish", {}, reads, DelegationWish::none, std::nullopt, WND4_NOT_WANTED},
      RefusalCase{"a writer who would only read",
                  {},
                  reads_and_writes,
                  DelegationWish::read,
                  std::nullopt,
                  WND4_NOT_WANTED},
      RefusalCase{"a writer who cannot read", {}, writes, DelegationWish::any, std::nullopt, WND4_RESOURCE},
      RefusalCase{"readers", reads, reads, DelegationWish::any, OPEN_DELEGATE_READ},
      RefusalCase{"a reader beside a writer", writes, reads, DelegationWish::any, std::nullopt,
                  WND4_CONTENTION},
      RefusalCase{"a writer beside a reader", reads, reads_and_writes, DelegationWish::any, std::nullopt,
                  WND4_CONTENTION},
  };
  std::uint8_t number = 10;
  for (const RefusalCase& one : cases) {
    SCOPED_TRACE(one.what);
    const vfs::FileHandle file = handle(++number);
    if (one.theirs.access != 0) opened(bob, "b", one.theirs, file);
    const auto answer = open(alice, "a", one.mine, file, one.wish);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->delegation, one.given);
    EXPECT_EQ(answer->no_delegation, one.why);
  }
}

TEST_F(DelegationsTest, what_changed_between_the_offer_and_the_grant_counts) {
  const auto answer = open(alice, "a", reads, handle(1), DelegationWish::read);
  ASSERT_TRUE(answer->delegation);
  opened(bob, "b", writes);
  EXPECT_FALSE(given(*answer));
  EXPECT_EQ(states.delegations().stats().reading, 0U);
}

TEST_F(DelegationsTest, its_holder_has_none_a_second_time) {
  ASSERT_TRUE(delegated(alice, reads, DelegationWish::read));
  EXPECT_FALSE(delegated(alice, reads, DelegationWish::read));
}

TEST_F(DelegationsTest, one_that_was_held_before_a_restart_is_given_again) {
  OpenRequest request{.client = alice,
                      .minor_version = 1,
                      .owner = "o",
                      .file = handle(1),
                      .share = reads,
                      .opener = {},
                      .descriptor = descriptor(share_read),
                      .wish = DelegationWish::none,
                      .reclaim = true,
                      .also_writes = false,
                      .now = now};
  const auto answer = states.opens().open(std::move(request), after);
  ASSERT_TRUE(answer);
  DelegationRequest wanted;
  wanted.reclaim = true;
  wanted.recalled = true;
  wanted.now = now;
  const auto id = states.delegations().give(*answer, wanted);
  ASSERT_TRUE(id);
  EXPECT_TRUE(after.recalls.empty()) << "the answer itself tells the client";
  EXPECT_EQ(states.delegations().revoke_unreturned(now, after), 1U);
}

TEST_F(DelegationsTest, the_holder_of_a_write_delegation_is_found_by_everybody_else) {
  const auto id = delegated(alice, reads_and_writes, DelegationWish::any);
  EXPECT_FALSE(states.delegations().write_holder(handle(1), alice.get()));
  const auto holder = states.delegations().write_holder(handle(1), bob.get());
  ASSERT_TRUE(holder);
  EXPECT_EQ(holder->client, alice);
  EXPECT_EQ(holder->id, *id);
  EXPECT_FALSE(holder->recalled);
  states.delegations().recall_all(handle(1), now, after);
  EXPECT_TRUE(states.delegations().write_holder(handle(1), bob.get())->recalled);
}

class DirectoriesTest : public DelegationsTest {
 protected:
  explicit DirectoriesTest(const StateLimits& limits = {}) : DelegationsTest(limits) {}
  class FakeLease final : public vfs::Lease {
   public:
    explicit FakeLease(std::shared_ptr<int> alive) : alive_(std::move(alive)) { ++*alive_; }
    ~FakeLease() override { --*alive_; }
    [[nodiscard]] vfs::FileRef file() const override { return file_; }

   private:
    vfs::FileRef file_;
    const std::shared_ptr<int> alive_;
  };
  std::optional<stateid4> watching(const ClientRef& client, const vfs::FileHandle& directory = handle(1)) {
    DirectoryDelegationRequest request{
        .client = client, .directory = directory, .lease = std::make_unique<FakeLease>(leases), .now = now};
    const bool admitted = states.delegations().admits_directory(*client, directory, now);
    const auto id = states.delegations().give(request);
    EXPECT_EQ(id.has_value(), admitted);
    EXPECT_EQ(request.lease == nullptr, id.has_value()) << "who gets none keeps its lease";
    return id;
  }
  const std::shared_ptr<int> leases = std::make_shared<int>(0);
};

TEST_F(DirectoriesTest, each_client_may_watch_it_once_and_nobody_after_a_recall) {
  const auto first = watching(alice);
  ASSERT_TRUE(first);
  EXPECT_FALSE(watching(alice));
  const auto second = watching(bob);
  ASSERT_TRUE(second);
  EXPECT_EQ(states.delegations().stats().directories, 2U);
  EXPECT_EQ(states.delegations().stats().reading, 0U);
  states.delegations().recall_all(handle(1), now, after);
  EXPECT_EQ(after.recalls.size(), 2U);
  EXPECT_EQ(status_of(states.delegations().give_back(use(alice, *first), after)), NFS4_OK);
  EXPECT_FALSE(watching(alice));
  now += states.limits().contention;
  EXPECT_TRUE(watching(alice));
  EXPECT_FALSE(watching(bob)) << "it has not returned the other one";
  after = {};
  EXPECT_EQ(*leases, 2);
}

TEST_F(DirectoriesTest, a_change_by_another_client_has_it_recalled) {
  const auto id = watching(alice);
  ASSERT_TRUE(id);
  EXPECT_FALSE(states.delegations().held_by_others(handle(1), alice.get()));
  EXPECT_TRUE(states.delegations().held_by_others(handle(1), bob.get()));
  EXPECT_TRUE(states.delegations().held_by_others(handle(1), nullptr));
  EXPECT_FALSE(states.delegations().held_by_others(handle(2), bob.get()));
  EXPECT_EQ(status_of(states.delegations().break_for(handle(1), alice.get(), true, now, after)), NFS4_OK);
  EXPECT_TRUE(after.recalls.empty());
  EXPECT_EQ(status_of(states.delegations().break_for(handle(1), bob.get(), true, now, after)), NFS4ERR_DELAY);
  ASSERT_EQ(after.recalls.size(), 1U);
  EXPECT_EQ(after.recalls[0].id.other, id->other);
}

TEST_F(DirectoriesTest, one_that_is_revoked_holds_no_lease_and_stays_to_be_freed) {
  const auto id = watching(alice);
  states.delegations().recall_all(handle(1), now, after);
  EXPECT_EQ(states.delegations().revoke_unreturned(now, after), 1U);
  after = {};
  EXPECT_EQ(*leases, 0);
  EXPECT_EQ(states.delegations().stats().directories, 0U);
  EXPECT_EQ(states.test(*id, *alice), NFS4ERR_DELEG_REVOKED);
  EXPECT_EQ(status_of(states.free(*id, *alice, after)), NFS4_OK);
  EXPECT_EQ(states.test(*id, *alice), NFS4ERR_BAD_STATEID);
}

TEST_F(DirectoriesTest, ends_with_its_client) {
  ASSERT_TRUE(watching(alice));
  ASSERT_TRUE(watching(bob));
  states.drop_client(alice->id);
  states.revoke_client(bob->id);
  after = states.take_left();
  after = {};
  EXPECT_EQ(*leases, 0);
  EXPECT_EQ(states.delegations().stats().directories, 0U);
}

TEST_F(DirectoriesTest, is_listed_as_what_it_is) {
  const auto id = watching(alice);
  states.delegations().recall_all(handle(1), now, after);
  const StatePage page =
      states.list({.kind = StateKind::delegation, .client = std::nullopt, .from = 0, .lines_max = 8});
  ASSERT_EQ(page.lines.size(), 1U);
  EXPECT_EQ(page.lines[0].id, *id);
  EXPECT_EQ(page.lines[0].file, handle(1));
  EXPECT_EQ(page.lines[0].made, now);
  EXPECT_TRUE(page.lines[0].directory);
  EXPECT_FALSE(page.lines[0].write);
  EXPECT_TRUE(page.lines[0].recalled);
}

TEST_F(DelegationsTest, only_who_keeps_the_times_says_what_they_are) {
  const auto plain = delegated(alice, reads, DelegationWish::read);
  EXPECT_EQ(status_of(states.delegations().check_timestamps(use(alice, *plain), share_read)), NFS4ERR_INVAL);
  const auto answer = open(bob, "b", reads, handle(2), DelegationWish::read);
  DelegationRequest request;
  request.timestamps = true;
  request.now = now;
  const auto keeper = states.delegations().give(*answer, request);
  EXPECT_EQ(states.delegations().check_timestamps(use(bob, *keeper, handle(2)), share_read)->client, bob);
  EXPECT_EQ(status_of(states.delegations().check_timestamps(use(bob, *keeper, handle(2)), share_write)),
            NFS4ERR_OPENMODE)
      << "who reads has nothing to say of the mtime";
  const vfs::FileHandle second = handle(2);
  StateUse anothers = use(bob, *keeper, second);
  EXPECT_FALSE(states.delegations().check_timestamps(anothers, share_read)->borrowed);
  anothers.caller = {1000, 1000};
  EXPECT_TRUE(states.delegations().check_timestamps(anothers, share_read)->borrowed);
}

class FewDelegationsTest : public DelegationsTest {
 protected:
  static StateLimits few() {
    StateLimits limits;
    limits.delegations_max = 8;
    limits.delegations_per_client = 6;
    return limits;
  }
  FewDelegationsTest() : DelegationsTest(few()) {}
  // How many of so many files the client gets one of.
  std::size_t take(const ClientRef& client, std::uint8_t from, std::uint8_t count) {
    std::size_t got = 0;
    for (std::uint8_t file = from; file < from + count; ++file)
      got += delegated(client, reads, DelegationWish::read, handle(file)) ? 1U : 0U;
    return got;
  }
};

TEST_F(FewDelegationsTest, are_bounded_per_client_and_in_all) {
  EXPECT_EQ(take(alice, 1, 10), 6U);
  EXPECT_EQ(take(bob, 1, 10), 2U);
  EXPECT_EQ(open(bob, "o", reads, handle(9), DelegationWish::read)->no_delegation,
            why_no_delegation4::WND4_RESOURCE);
  EXPECT_EQ(states.delegations().stats().reading, 8U);
}

class SharedDelegationsTest : public DelegationsTest {
 protected:
  static StateLimits limits() {
    StateLimits limits;
    limits.delegations_max = 64;
    return limits;
  }
  SharedDelegationsTest() : DelegationsTest(limits()) {}
};

TEST_F(SharedDelegationsTest, an_address_gets_as_many_as_it_leaves) {
  const auto take = [&](const ClientRef& client) {
    std::size_t got = 0;
    for (std::uint8_t file = 1; file < 100; ++file)
      got += delegated(client, reads, DelegationWish::read, handle(file)) ? 1U : 0U;
    return got;
  };
  EXPECT_EQ(take(make_client(11, 1, 1)), 32U);
  EXPECT_EQ(take(make_client(12, 1, 1)), 0U);
  EXPECT_EQ(take(make_client(13, 1, 2)), 16U);
}

TEST_F(FewDelegationsTest, who_has_many_is_asked_for_some_when_they_run_short) {
  EXPECT_EQ(take(alice, 1, 4), 4U);
  EXPECT_TRUE(states.delegations().surplus(now).empty());
  EXPECT_EQ(take(alice, 5, 1), 1U);
  EXPECT_EQ(take(bob, 1, 2), 2U);
  const auto surplus = states.delegations().surplus(now);
  ASSERT_EQ(surplus.size(), 1U);
  EXPECT_EQ(surplus[0].client, alice);
  EXPECT_EQ(surplus[0].keep, 2U);
  EXPECT_TRUE(states.delegations().surplus(now).empty()) << "it needs time";
  now += 60s;
  EXPECT_EQ(states.delegations().surplus(now).size(), 1U);
}

class FewDirectoriesTest : public DirectoriesTest {
 protected:
  static StateLimits few() {
    StateLimits limits;
    limits.states_max = 16;
    limits.delegations_max = 8;
    limits.delegations_per_client = 6;
    return limits;
  }
  FewDirectoriesTest() : DirectoriesTest(few()) {}
  std::size_t take(const ClientRef& client, std::uint8_t count) {
    std::size_t got = 0;
    for (std::uint8_t number = 1; number <= count; ++number)
      got += watching(client, handle(number)) ? 1U : 0U;
    return got;
  }
};

TEST_F(FewDirectoriesTest, count_like_other_delegations) {
  EXPECT_EQ(take(alice, 10), 6U);
  EXPECT_EQ(states.delegations().surplus(now).size(), 1U) << "some are asked for";
  ASSERT_TRUE(delegated(bob, reads, DelegationWish::read, handle(20)));
  EXPECT_EQ(take(bob, 10), 1U);
  EXPECT_FALSE(delegated(make_client(4, 1), reads, DelegationWish::read, handle(21)));
}

TEST_F(FewDirectoriesTest, none_is_given_when_states_run_short) {
  for (std::uint8_t number = 1; number <= 13; ++number) opened(bob, "b", reads, handle(number));
  EXPECT_FALSE(watching(alice, handle(20)));
}

TEST(ContentionTest, lasts_until_its_time) {
  Contention contention;
  const base::TimePoint now{100s};
  EXPECT_FALSE(contention.lasts(5, now));
  contention.note(5, now + 30s);
  EXPECT_TRUE(contention.lasts(5, now + 29s));
  EXPECT_FALSE(contention.lasts(5, now + 30s));
  EXPECT_FALSE(contention.lasts(6, now));
}

}  // namespace
}  // namespace braid::nfs4::state::test
