// Clients that go, are told what they have lost, or keep the grace period going: what Clients says and does.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/manual/manual_clock.h"
#include "nfs4/clients.h"
#include "nfs4/recovery/client_store.h"
#include "tests/unit/nfs4/clients/client_table_fixture.h"
#include "tests/unit/rpc/loop.h"

namespace braid::nfs4 {
namespace {

using enum nfsstat4;
using namespace std::chrono_literals;
using state::ExpiryReason;

class ClientExpiryTest : public state::ClientTableTest {
 protected:
  // Notes what it is told, and how many clients are on record then.
  class Observer final : public state::ClientObserver {
   public:
    explicit Observer(ClientExpiryTest& test) : test_(test) {}
    [[nodiscard]] bool holds_state(clientid4 client) const override {
      if (test_.on_look_) test_.on_look_();
      return test_.holders_.contains(client);
    }
    void stop(clientid4 /*client*/) override { test_.note("stop "); }
    [[nodiscard]] bool stopping(clientid4 /*client*/) const override { return test_.stopping_; }
    io::Op<> stopped(clientid4 /*client*/) override {
      if (test_.stopping_) test_.done_.emplace_back("waited");
      test_.stopping_ = false;
      return base::Result<void>();
    }
    void release(clientid4 /*client*/) override { test_.note("release "); }
    void revoke(clientid4 /*client*/) override { test_.note("revoke "); }

   private:
    ClientExpiryTest& test_;
  };

  ClientExpiryTest() : directory_(testing::TempDir() + "client_expiry_XXXXXX") {
    EXPECT_NE(::mkdtemp(directory_.data()), nullptr);
    open();
  }
  ~ClientExpiryTest() override {
    clients_.reset();
    store_.reset();
    blocking_.stop();
    std::filesystem::remove_all(directory_);
  }

  void open() {
    clients_.reset();
    store_.reset();
    store_ = recovery::ClientStore::open(directory_ + "/nfs4").value();
    clients_.emplace(options_, *store_, base::SipKey{3, 4}, blocking_,
                     std::vector<state::ClientObserver*>{&observer_}, now_);
  }
  void note(const char* what) { done_.push_back(what + std::to_string(on_record())); }
  [[nodiscard]] std::size_t on_record() const {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(directory_ + "/nfs4"))
      if (entry.path().filename().string().starts_with("client-")) ++count;
    return count;
  }
  // Runs what f() makes until it ends.
  template <class F>
  auto run(F f) {
    using Op = std::invoke_result_t<F>;
    std::optional<base::Result<typename Op::value_type, typename Op::error_type>> result;
    rpc::test::Loop loop(clock_);
    loop.run([&]() -> io::Op<> { result = co_await f().as_result(); });
    return std::move(*result);
  }
  state::CreateSessionRequest session_request(clientid4 client, std::uint32_t sequence) {
    auto wish = request(client, sequence);
    if (!channel_.expired()) {
      wish.flags = CREATE_SESSION4_FLAG_CONN_BACK_CHAN;
      wish.connection = {.id = 5, .channel = {*reactor_, channel_}};
    }
    return wish;
  }
  // A client that has said RECLAIM_COMPLETE, and the session that it made.
  state::SessionRef join(std::string_view owner, bool complete = true) {
    const auto session = clients_->with([&](state::ClientTable& table) {
      const auto met = table.exchange_id(who(owner), false, now_);
      const auto made = table.create_session(session_request(met->client, met->sequence), now_);
      return table.find_session(made->session);
    });
    if (complete) {
      EXPECT_TRUE(run([&] { return clients_->reclaim_complete(session->client); }));
    }
    return session;
  }
  [[nodiscard]] std::uint32_t flags(const state::SessionRef& session) const {
    return clients_->status_flags(*session);
  }

  std::string directory_;
  base::ManualClock clock_;
  io::BlockingPool blocking_{{.threads_max = 1}};
  Observer observer_{*this};
  std::unique_ptr<recovery::ClientStore> store_;
  std::optional<Clients> clients_;
  std::vector<std::string> done_;
  std::function<void()> on_look_;  // whether a client holds something
  bool stopping_ = false;          // what a client that goes has going on takes its time
  std::unique_ptr<io::Reactor> reactor_ = io::Reactor::create({.ring_entries = 8}, clock_).value();
  // Something that lives in place of a connection.
  std::shared_ptr<rpc::BackChannel> connection_;
  std::weak_ptr<rpc::BackChannel> channel_;
};

std::shared_ptr<rpc::BackChannel> some_connection() { return {std::make_shared<int>(0), nullptr}; }

TEST_F(ClientExpiryTest, what_an_evicted_client_has_going_on_ends_then_its_record_then_its_state) {
  const clientid4 id = join("owner")->client->id;
  ASSERT_EQ(on_record(), 1U);
  const auto gone = run([&] { return clients_->evict(id); });
  EXPECT_TRUE(gone && *gone);
  EXPECT_EQ(done_, (std::vector<std::string>{"stop 1", "release 0"}));
  const auto again = run([&] { return clients_->evict(id); });
  EXPECT_TRUE(again && !*again);
}

TEST_F(ClientExpiryTest, what_takes_its_time_to_end_is_waited_for_before_others_get_the_state) {
  const clientid4 id = join("owner")->client->id;
  stopping_ = true;
  const auto gone = run([&] { return clients_->evict(id); });
  EXPECT_TRUE(gone && *gone);
  EXPECT_EQ(done_, (std::vector<std::string>{"stop 1", "waited", "release 0"}));
}

TEST_F(ClientExpiryTest, revoked_state_waits_for_it_too) {
  const clientid4 id = join("owner")->client->id;
  stopping_ = true;
  EXPECT_TRUE(run([&] { return clients_->revoke(id); }));
  EXPECT_EQ(done_, (std::vector<std::string>{"stop 0", "waited", "revoke 0"}));
}

// Its successor holds the record.
TEST_F(ClientExpiryTest, the_state_of_a_client_that_is_replaced_waits_for_it_and_nobody_waits_for_that) {
  join("owner");
  stopping_ = true;
  clients_->with([&](state::ClientTable& table) {
    const auto met = table.exchange_id(who("owner", 2), false, now_);
    return table.create_session(session_request(met->client, met->sequence), now_).has_value();
  });
  (void)run([&] { return clients_->tick(now_); });
  EXPECT_EQ(done_, std::vector<std::string>{"stop 1"});
  stopping_ = false;
  (void)run([&] { return clients_->tick(now_); });
  EXPECT_EQ(done_, (std::vector<std::string>{"stop 1", "release 1"}));
}

TEST_F(ClientExpiryTest, an_expired_client_is_stopped_too) {
  const clientid4 id = join("owner")->client->id;
  holders_ = {id};
  now_ += options_.lease + 1s;
  (void)run([&] { return clients_->tick(now_); });
  EXPECT_TRUE(done_.empty()) << "a courteous client keeps what it has";
  EXPECT_EQ(clients_->summary(now_).courteous, 1U);
  const auto gone = run([&] { return clients_->evict_if_silent(id, now_); });
  EXPECT_TRUE(gone && *gone);
  EXPECT_EQ(done_, (std::vector<std::string>{"stop 1", "release 0"}));
  EXPECT_EQ(clients_->summary(now_).courteous, 0U);
}

TEST_F(ClientExpiryTest, a_client_whose_state_is_revoked_lives_and_is_no_longer_on_record) {
  const auto session = join("owner");
  const auto revoked = run([&] { return clients_->revoke(session->client->id); });
  EXPECT_TRUE(revoked);
  EXPECT_EQ(done_, (std::vector<std::string>{"stop 0", "revoke 0"}));
  EXPECT_FALSE(session->client->recorded());
  EXPECT_TRUE(clients_->find_session(session->id));
  // With its next OPEN it may reclaim again.
  EXPECT_TRUE(run([&] { return clients_->ensure_recorded(session->client); }));
  EXPECT_EQ(on_record(), 1U);
}

TEST_F(ClientExpiryTest, who_cannot_be_told_has_nothing_revoked) {
  const clientid4 old = clients_->with([&](state::ClientTable& table) {
    const auto set = table.set_client_id(who("owner", 1, 10, 0), {}, now_);
    return (*table.confirm_client_id(set->client, set->confirm, state::user(10), now_))->id;
  });
  EXPECT_EQ(run([&] { return clients_->revoke(old); }).error(), NFS4ERR_MINOR_VERS_MISMATCH);
  EXPECT_EQ(run([&] { return clients_->revoke(old + 77); }).error(), NFS4ERR_STALE_CLIENTID);
  EXPECT_TRUE(done_.empty());
}

// RFC 7530 9.6.3.4: it cannot say whether it has reclaimed everything, and others may be given the rest.
TEST_F(ClientExpiryTest, a_40_client_that_reclaims_and_falls_silent_is_off_the_record_until_it_is_back) {
  const auto join_40 = [&] {
    return clients_->with([&](state::ClientTable& table) {
      const auto set = table.set_client_id(who("owner", 1, 10, 0), {}, now_);
      return *table.confirm_client_id(set->client, set->confirm, state::user(10), now_);
    });
  };
  ASSERT_TRUE(run([&, client = join_40()] { return clients_->ensure_recorded(client); }));
  open();
  const state::ClientRef client = join_40();
  holders_ = {client->id};
  ASSERT_TRUE(run([&] { return clients_->ensure_recorded(client); }));
  ASSERT_TRUE(clients_->begin_reclaim(*client, now_));
  (void)run([&] { return clients_->tick(now_); });
  EXPECT_EQ(on_record(), 1U);

  now_ += options_.lease + 1s;
  (void)run([&] { return clients_->tick(now_); });
  EXPECT_FALSE(client->recorded());
  EXPECT_EQ(on_record(), 0U);
  EXPECT_EQ(clients_->summary(now_).courteous, 1U) << "it keeps what it has reclaimed";

  // An answer would promise what the next run would not let it reclaim.
  EXPECT_FALSE(client->renew_40(now_));
  (void)run([&] { return clients_->tick(now_); });
  EXPECT_TRUE(client->recorded());
  EXPECT_TRUE(client->renew_40(now_));
  EXPECT_EQ(on_record(), 1U);
}

TEST_F(ClientExpiryTest, a_40_client_that_is_heard_of_while_its_record_is_to_go_stays_on_record) {
  const state::ClientRef client = clients_->with([&](state::ClientTable& table) {
    const auto set = table.set_client_id(who("owner", 1, 10, 0), {}, now_);
    return *table.confirm_client_id(set->client, set->confirm, state::user(10), now_);
  });
  client->set_reclaimed();
  ASSERT_TRUE(run([&] { return clients_->ensure_recorded(client); }));
  now_ += options_.lease + 1s;
  EXPECT_TRUE(client->renew_40(now_));
  EXPECT_FALSE(client->take_off_record(now_, options_.lease));
  EXPECT_TRUE(client->renew_40(now_));
  EXPECT_TRUE(client->recorded());
}

// A removal that failed may have been one.
TEST_F(ClientExpiryTest, a_record_whose_removal_failed_is_written_again_when_the_client_is_back) {
  const auto join_40 = [&] {
    return clients_->with([&](state::ClientTable& table) {
      const auto set = table.set_client_id(who("owner", 1, 10, 0), {}, now_);
      return *table.confirm_client_id(set->client, set->confirm, state::user(10), now_);
    });
  };
  ASSERT_TRUE(run([&, client = join_40()] { return clients_->ensure_recorded(client); }));
  open();
  const state::ClientRef client = join_40();
  holders_ = {client->id};
  ASSERT_TRUE(run([&] { return clients_->ensure_recorded(client); }));
  ASSERT_TRUE(clients_->begin_reclaim(*client, now_));
  (void)run([&] { return clients_->tick(now_); });
  now_ += options_.lease + 1s;
  // The record goes, and the one who removes it is not told: its place is a directory that cannot be removed.
  const std::string folder = directory_ + "/nfs4";
  std::string record;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().filename().string().starts_with("client-")) record = entry.path();
  std::filesystem::remove(record);
  std::filesystem::create_directories(record + "/full");
  (void)run([&] { return clients_->tick(now_); });
  EXPECT_FALSE(client->recorded());
  // Nor can it be written, until the directory has gone.
  client->renew(now_);
  (void)run([&] { return clients_->tick(now_); });
  EXPECT_FALSE(client->recorded());
  EXPECT_FALSE(client->renew_40(now_)) << "refused until it is on record";
  std::filesystem::remove_all(record);
  (void)run([&] { return clients_->tick(now_); });
  EXPECT_TRUE(client->recorded());
  EXPECT_EQ(on_record(), 1U);
}

TEST_F(ClientExpiryTest, a_40_client_that_never_reclaimed_stays_on_record_when_it_falls_silent) {
  const state::ClientRef client = clients_->with([&](state::ClientTable& table) {
    const auto set = table.set_client_id(who("owner", 1, 10, 0), {}, now_);
    return *table.confirm_client_id(set->client, set->confirm, state::user(10), now_);
  });
  holders_ = {client->id};
  ASSERT_TRUE(run([&] { return clients_->ensure_recorded(client); }));
  now_ += options_.lease + 1s;
  (void)run([&] { return clients_->tick(now_); });
  EXPECT_EQ(on_record(), 1U);
}

TEST_F(ClientExpiryTest, a_40_client_that_holds_nothing_for_a_lease_time_is_not_waited_for) {
  const auto join_40 = [&](std::string_view name) {
    return clients_->with([&](state::ClientTable& table) {
      const auto set = table.set_client_id(who(name, 1, 10, 0), {}, now_);
      return *table.confirm_client_id(set->client, set->confirm, state::user(10), now_);
    });
  };
  const state::ClientRef idle = join_40("idle"), holder = join_40("holder");
  holders_ = {idle->id, holder->id};
  const auto pass = [&](base::Duration time) {
    for (const base::TimePoint end = now_ + time; now_ < end; now_ += 1s) {
      idle->renew(now_);
      holder->renew(now_);
      (void)run([&] { return clients_->tick(now_); });
    }
  };
  for (const auto& client : {idle, holder})
    ASSERT_TRUE(run([&] { return clients_->ensure_recorded(client); }));
  pass(2 * options_.lease);
  EXPECT_EQ(on_record(), 2U);
  holders_ = {holder->id};
  pass(options_.lease);
  EXPECT_EQ(on_record(), 2U) << "it has not been for a lease time";
  pass(options_.lease);
  EXPECT_EQ(on_record(), 1U);
  EXPECT_FALSE(idle->recorded());
  ASSERT_TRUE(run([&] { return clients_->ensure_recorded(idle); }));
  EXPECT_EQ(on_record(), 2U) << "it is about to get something";
  pass(2 * options_.lease);
  open();
  EXPECT_EQ(clients_->summary(now_).reclaiming, 1U) << "the holder alone";
}

// It opens a file when somebody looks whether it has one.
TEST_F(ClientExpiryTest, a_record_that_is_asked_for_while_it_goes_stays) {
  const state::ClientRef client = clients_->with([&](state::ClientTable& table) {
    const auto set = table.set_client_id(who("idle", 1, 10, 0), {}, now_);
    return *table.confirm_client_id(set->client, set->confirm, state::user(10), now_);
  });
  ASSERT_TRUE(run([&] { return clients_->ensure_recorded(client); }));
  io::Gate gate;
  int asked = 0;
  on_look_ = [&] {
    if (client->recorded()) return;
    ++asked;
    io::spawn(gate, [](Clients& clients, state::ClientRef who) -> io::Op<> {
      EXPECT_TRUE(co_await clients.ensure_recorded(std::move(who)).as_result());
    }(*clients_, client));
  };
  for (const base::TimePoint end = now_ + 3 * options_.lease; now_ < end; now_ += 1s) {
    client->renew(now_);
    (void)run([&]() -> io::Op<> {
      (void)co_await clients_->tick(now_).as_result();
      co_await gate.drained();
    });
    EXPECT_TRUE(client->recorded());
    EXPECT_EQ(on_record(), 1U);
  }
  EXPECT_GT(asked, 0);
}

// --- SEQ4_STATUS_* (RFC 8881 18.46.3)

TEST_F(ClientExpiryTest, nothing_is_wrong_with_a_session_that_never_had_a_back_channel) {
  EXPECT_EQ(flags(join("owner")), 0U);
}

TEST_F(ClientExpiryTest, a_lost_back_channel_is_told_in_its_session_and_a_lost_path_in_all) {
  const auto without = join("owner");
  connection_ = some_connection();
  channel_ = connection_;
  const auto with = clients_->with([&](state::ClientTable& table) {
    return table.find_session(table.create_session(session_request(without->client->id, 2), now_)->session);
  });
  EXPECT_EQ(flags(without), 0U);
  EXPECT_EQ(flags(with), 0U);
  connection_.reset();
  EXPECT_EQ(flags(without), SEQ4_STATUS_CB_PATH_DOWN);
  EXPECT_EQ(flags(with), SEQ4_STATUS_CB_PATH_DOWN | SEQ4_STATUS_CB_PATH_DOWN_SESSION);
  // Another session's back channel is a way to the client, too.
  connection_ = some_connection();
  without->bind_back({.id = 6, .channel = {*reactor_, connection_}});
  EXPECT_EQ(flags(without), 0U);
  EXPECT_EQ(flags(with), SEQ4_STATUS_CB_PATH_DOWN_SESSION);
}

TEST_F(ClientExpiryTest, a_back_channel_that_is_out_of_step_is_a_fault_and_no_path) {
  connection_ = some_connection();
  channel_ = connection_;
  const auto session = join("owner");
  session->set_back_fault();
  EXPECT_EQ(flags(session), SEQ4_STATUS_BACKCHANNEL_FAULT | SEQ4_STATUS_CB_PATH_DOWN);
  session->bind_back({.id = 5, .channel = {*reactor_, connection_}});
  EXPECT_EQ(flags(session), 0U);
}

TEST_F(ClientExpiryTest, who_may_reclaim_is_told_so_until_it_has) {
  (void)join("known");
  open();
  const auto stranger = join("stranger", false);
  EXPECT_EQ(flags(stranger), 0U) << "it has nothing to reclaim";
  const auto known = join("known", false);
  EXPECT_EQ(flags(known), SEQ4_STATUS_RESTART_RECLAIM_NEEDED);
  testing::internal::CaptureStderr();
  EXPECT_TRUE(run([&] { return clients_->reclaim_complete(stranger->client); }));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  testing::internal::CaptureStderr();
  EXPECT_TRUE(run([&] { return clients_->reclaim_complete(known->client); }));
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::HasSubstr(fmt::format("client_reclaimed client={:#x} ", known->client->id)));
  EXPECT_EQ(flags(known), 0U);
}

TEST_F(ClientExpiryTest, nobody_is_told_to_reclaim_once_the_grace_period_is_over) {
  (void)join("known");
  open();
  const auto known = join("known", false);
  now_ += options_.lease;
  known->client->renew(now_);
  (void)run([&] { return clients_->tick(now_); });
  EXPECT_EQ(flags(known), 0U);
}

// A client whose lease ran out and whose state was wanted has no session that could tell of it.
TEST_F(ClientExpiryTest, an_expired_client_loses_its_sessions_with_its_state) {
  const auto session = join("owner");
  holders_ = {session->client->id};
  now_ += options_.lease + 1s;
  (void)run([&] { return clients_->evict_if_silent(session->client->id, now_); });
  EXPECT_FALSE(clients_->find_session(session->id));
  EXPECT_EQ(session->start({.slot = 0, .sequence = 1}, nullptr).error(), NFS4ERR_DEADSESSION);
}

// --- The grace period and 4.0

TEST_F(ClientExpiryTest, with_a_4_0_client_on_record_the_grace_period_lasts_its_time) {
  (void)join("later");
  const auto old = clients_->with([&](state::ClientTable& table) {
    const auto set = table.set_client_id(who("old", 1, 10, 0), {}, now_);
    return *table.confirm_client_id(set->client, set->confirm, state::user(10), now_);
  });
  ASSERT_TRUE(run([&] { return clients_->ensure_recorded(old); }));
  open();
  (void)join("later");
  EXPECT_EQ(clients_->summary(now_).reclaiming, 1U);
  EXPECT_EQ(clients_->summary(now_).grace_left, options_.lease);
  now_ += options_.lease - 1s;
  (void)run([&] { return clients_->tick(now_); });
  EXPECT_TRUE(clients_->in_grace()) << "it cannot say that it is done";
  now_ += 1s;
  (void)run([&] { return clients_->tick(now_); });
  EXPECT_FALSE(clients_->in_grace());
  EXPECT_EQ(clients_->summary(now_).grace_left, base::Duration());
}

TEST_F(ClientExpiryTest, without_clients_on_record_there_is_no_grace_period) {
  open();
  EXPECT_FALSE(clients_->in_grace());
}

}  // namespace
}  // namespace braid::nfs4
