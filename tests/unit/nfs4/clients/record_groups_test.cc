// How often the disk is asked when many clients come and go at once.
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/gate.h"
#include "io/reactor.h"
#include "nfs4/clients.h"

namespace braid::nfs4 {
namespace {

using recovery::RecordChange;

// The first change waits until the test lets it go.
class SlowRecords final : public recovery::ClientRecords {
 public:
  [[nodiscard]] std::uint32_t epoch() const override { return 1; }
  [[nodiscard]] std::string server_id() const override { return "slow"; }
  [[nodiscard]] const std::vector<state::KnownClient>& known() const override { return known_; }
  [[nodiscard]] const std::optional<vfs::Time>& watched_until() const override { return watched_until_; }
  base::Result<void> note_watching() override { return {}; }
  base::Result<void> end_grace() override { return {}; }
  base::Result<void> note_held(std::span<const state::KnownClient> /*clients*/) override { return {}; }
  base::Result<void> apply(std::span<const RecordChange> changes) override {
    ++applied;
    if (applied == 1) go.wait();
    if (fails) return base::fail(EIO);
    recorded += changes.size();
    return {};
  }

  std::latch go{1};
  std::atomic<int> applied = 0;
  std::atomic<bool> fails = false;
  std::atomic<std::size_t> recorded = 0;

 private:
  const std::vector<state::KnownClient> known_;
  const std::optional<vfs::Time> watched_until_;
};

class RecordGroupsTest : public testing::Test {
 protected:
  static constexpr int count = 100;
  RecordGroupsTest()
      : reactor_(io::Reactor::create({}, clock_).value()),
        clients_({}, records_, {1, 2}, pool_, {}, base::TimePoint()) {}

  static state::ClientRef client(int number) {
    state::Introduction introduction;
    introduction.minor_version = 1;
    const std::string name = std::to_string(number);
    const base::BytesView view = base::bytes_of(name);
    introduction.owner = {view.begin(), view.end()};
    return std::make_shared<state::Client>(static_cast<clientid4>(number), std::move(introduction),
                                           base::TimePoint());
  }
  io::Op<> complete(state::ClientRef one) {
    const auto done = co_await clients_.reclaim_complete(std::move(one)).as_result();
    if (done) ++completed_;
  }
  // RECLAIM_COMPLETE of many clients while the first one is being synced.
  void complete_many() {
    auto all = [this]() -> io::Op<> {
      io::Gate gate;
      for (int i = 0; i < count; ++i) {
        io::spawn(gate, complete(client(i)));
        while (records_.applied == 0) co_await reactor_->yield();
      }
      records_.go.count_down();
      co_await gate.drained();
      reactor_->stop();
    };
    reactor_->post(std::function<void()>([&] { io::spawn(gate_, all()); }));
    reactor_->run();
  }

  base::SystemClock clock_;
  std::unique_ptr<io::Reactor> reactor_;
  io::BlockingPool pool_{{}};
  SlowRecords records_;
  Clients clients_;
  io::Gate gate_;
  int completed_ = 0;
};

TEST_F(RecordGroupsTest, clients_that_come_while_the_disk_is_busy_are_recorded_together) {
  complete_many();
  EXPECT_EQ(completed_, count);
  EXPECT_EQ(records_.recorded, static_cast<std::size_t>(count));
  EXPECT_EQ(records_.applied, 2);
}

TEST_F(RecordGroupsTest, each_of_a_group_hears_that_it_failed) {
  records_.fails = true;
  complete_many();
  EXPECT_EQ(completed_, 0);
}

}  // namespace
}  // namespace braid::nfs4
