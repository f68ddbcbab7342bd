// Who goes through a directory when many list it at the same time.
#include "vfs/posix/listing.h"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "io/blocking_pool.h"
#include "io/gate.h"
#include "posix_fixture.h"

namespace braid::vfs {
namespace {

using posix::ListingCall;
using posix::ListingTurns;

constexpr Credentials superuser{};

// Calls by number that take turns; each walk takes one turn of the reactor.
class ListingTurnsTest : public testing::Test {
 protected:
  // The walks in their order, as the numbers of the calls of each; call i lists from cookies[i].
  std::vector<std::vector<std::size_t>> walks(std::size_t walks_max,
                                              const std::vector<std::uint64_t>& cookies) {
    ListingTurns turns(walks_max);
    reactor_ = io::Reactor::create({}, clock_).value();
    requests_.clear();
    for (const std::uint64_t cookie : cookies) requests_.push_back({.cookie = cookie});
    calls_.clear();
    calls_.reserve(cookies.size());
    for (const ReadDirectoryRequest& request : requests_)
      calls_.push_back(ListingCall{superuser, request, sink_});
    walks_.clear();
    left_ = cookies.size();
    reactor_->post([&] {
      for (std::size_t i = 0; i < calls_.size(); ++i) io::spawn(gate_, list(turns, i));
    });
    reactor_->run();
    return walks_;
  }

 private:
  io::Op<> list(ListingTurns& turns, std::size_t number) {
    ListingCall& call = calls_[number];
    const bool leads = co_await turns.turn(call);
    if (leads) {
      std::vector<std::size_t>& walk = walks_.emplace_back();
      for (const ListingCall* each = &call; each != nullptr; each = each->next)
        walk.push_back(static_cast<std::size_t>(each - calls_.data()));
      co_await reactor_->yield();
      turns.done(call);
    }
    if (--left_ == 0) reactor_->stop();
  }

  base::SystemClock clock_;
  std::unique_ptr<io::Reactor> reactor_;
  io::Gate gate_;
  const EntrySink sink_ = [](const DirectoryEntry&) { return false; };
  std::vector<ReadDirectoryRequest> requests_;
  std::vector<ListingCall> calls_;
  std::vector<std::vector<std::size_t>> walks_;
  std::size_t left_ = 0;
};

using Walks = std::vector<std::vector<std::size_t>>;

TEST_F(ListingTurnsTest, those_who_come_during_a_walk_go_together_in_the_next) {
  EXPECT_EQ(walks(1, {5, 5, 5, 5}), (Walks{{0}, {1, 2, 3}}));
  EXPECT_EQ(walks(4, {5, 5, 5, 5}), (Walks{{0}, {1, 2, 3}})) << "one walk from a position";
}

TEST_F(ListingTurnsTest, who_came_first_is_first) {
  EXPECT_EQ(walks(1, {0, 7, 0, 7, 9}), (Walks{{0}, {1, 3}, {2}, {4}}));
}

TEST_F(ListingTurnsTest, walks_from_different_positions_run_side_by_side_up_to_a_limit) {
  EXPECT_EQ(walks(3, {0, 7, 9, 11, 0}), (Walks{{0}, {1}, {2}, {3}, {4}}));
  EXPECT_EQ(walks(2, {0, 0, 7, 7, 9}), (Walks{{0}, {2}, {1}, {3}, {4}}));
}

TEST_F(ListingTurnsTest, a_walk_is_for_a_bounded_number_of_calls) {
  const Walks all = walks(1, std::vector<std::uint64_t>(40, 3));
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[1].size(), ListingTurns::together_max);
  EXPECT_EQ(all[2].size(), 40 - 1 - ListingTurns::together_max);
}

class SharedListingTest : public PosixFixture, public testing::WithParamInterface<std::string> {
 protected:
  static constexpr int files = 100;

  struct Listing {
    Credentials who{};
    ReadDirectoryRequest request{};
    std::size_t taken_max = 1000;
    std::map<std::string, bool> entries{};  // name, and whether attributes came with it
    std::optional<Outcome<bool>> outcome{};
  };

  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "mounts need root";
    const auto mount = mounted(GetParam());
    if (!mount) GTEST_SKIP() << mount.error();
    options_.pool = &pool_;
    options_.placement = posix::PlacementPolicy::inline_always;
    start(*mount);
    for (int i = 0; i < files; ++i) local_write("f" + std::to_string(i), "");
    std::filesystem::permissions(local(), std::filesystem::perms::owner_all);
    list(root_, 1000);  // from now on it is known to be long
  }
  void TearDown() override {
    PosixFixture::TearDown();
    pool_.stop();
  }
  // All at the same time, on one reactor; how many jobs it took.
  std::uint64_t together(std::vector<Listing>& listings) {
    const auto reactor = io::Reactor::create({}, clock_).value();
    io::Gate gate;
    std::size_t left = listings.size();
    const auto drive = [&](Listing& listing) -> io::Op<> {
      const EntrySink sink = [&listing](const DirectoryEntry& entry) {
        if (listing.entries.size() == listing.taken_max) return false;
        listing.entries[std::string(entry.name)] = entry.attributes.has_value();
        return true;
      };
      listing.outcome.emplace(co_await fs_->readdir(listing.who, root_, listing.request, sink).as_result());
      if (--left == 0) reactor->stop();
    };
    const std::uint64_t before = jobs();
    reactor->post([&] {
      for (Listing& listing : listings) io::spawn(gate, drive(listing));
    });
    reactor->run();
    return jobs() - before;
  }
  [[nodiscard]] std::uint64_t jobs() const {
    return pool_.stats().jobs[static_cast<std::size_t>(io::BlockingReason::directory)];
  }

  io::BlockingPool pool_{{}};
};
BRAID_ON_EVERY_FILE_SYSTEM(SharedListingTest);

TEST_P(SharedListingTest, everyone_gets_what_is_its_own) {
  std::vector<Listing> listings(5);
  listings[0].request.plus = true;
  listings[1].request.plus = true;
  listings[3].who = user(1000);
  listings[4].taken_max = 3;
  EXPECT_EQ(together(listings), 2U);

  for (const std::size_t whole : {0U, 1U, 2U}) {
    EXPECT_EQ(*listings[whole].outcome, true);
    EXPECT_EQ(listings[whole].entries.size(), files + 2U);
    EXPECT_EQ(listings[whole].entries.at("f7"), listings[whole].request.plus);
  }
  EXPECT_EQ(*listings[3].outcome, base::fail(Error::acces));
  EXPECT_TRUE(listings[3].entries.empty());
  EXPECT_EQ(*listings[4].outcome, false);
  EXPECT_EQ(listings[4].entries.size(), 3U);
}

TEST_P(SharedListingTest, nobody_who_may_list_is_no_reason_to_look) {
  std::vector<Listing> listings(3);
  for (Listing& listing : listings) listing.who = user(1000);
  together(listings);
  for (const Listing& listing : listings) EXPECT_EQ(*listing.outcome, base::fail(Error::acces));
}

TEST_P(SharedListingTest, a_pool_that_takes_no_more_answers_everyone_delay) {
  std::vector<Listing> listings(3);
  pool_.stop();
  together(listings);
  for (const Listing& listing : listings) EXPECT_EQ(*listing.outcome, base::fail(Error::delay));
}

}  // namespace
}  // namespace braid::vfs
