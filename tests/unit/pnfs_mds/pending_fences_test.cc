#include "pnfs_mds/pending_fences.h"

#include "base/manual/manual_clock.h"
#include "pnfs_mds/fake/objects.h"
#include "tests/unit/pnfs_mds/scratch.h"

namespace braid::pnfs_mds::test {
namespace {

using namespace std::chrono_literals;

constexpr pnfs::ServerNumber the_server{1};

class PendingFencesTest : public ScratchTest {
 protected:
  PendingFencesTest() : servers_(std::move(*DataServers::open(directory_.get(), time_, {}))) {
    EXPECT_TRUE(now(servers_->admit(id_, "ds", {})));
    beat();
  }
  void beat() { EXPECT_TRUE(now(servers_->heard(id_, {}))); }
  base::Result<void, vfs::Error> put(std::uint64_t client, std::uint64_t last) {
    return now(pending_.put(the_server, {pnfs::ClientTag(client), pnfs::GrantNumber(last)}));
  }
  // (client, last) of what the server has been told.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> told() {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> out;
    for (const Fence& fence : objects_.fences(the_server)) {
      const auto& one = std::get<ClientFence>(fence);
      out.emplace_back(one.client.value(), one.last.value());
    }
    return out;
  }

  const pnfs::ServerId id_{std::byte{1}};
  base::ManualClock time_;
  fake::Objects objects_;
  std::unique_ptr<DataServers> servers_;
  PendingFences pending_{objects_, *servers_};
};

TEST_F(PendingFencesTest, a_server_that_answers_is_told_at_once) {
  EXPECT_TRUE(put(7, 3));
  EXPECT_EQ(told().size(), 1U);
  EXPECT_EQ(pending_.count(), 0U);
}

TEST_F(PendingFencesTest, a_silent_server_counts_once_it_has_barred_itself) {
  objects_.set_silent(the_server, true);
  EXPECT_EQ(put(7, 3).error(), vfs::Error::delay) << "it may serve the client";
  time_.advance(49s);
  EXPECT_EQ(put(7, 3).error(), vfs::Error::delay);
  time_.advance(2s);
  EXPECT_TRUE(put(7, 3));
  EXPECT_EQ(pending_.count(), 1U);
  EXPECT_EQ(now(pending_.deliver(the_server)).error(), vfs::Error::delay);
  objects_.set_silent(the_server, false);
  EXPECT_TRUE(now(pending_.deliver(the_server)));
  EXPECT_EQ(told(), (std::vector<std::pair<std::uint64_t, std::uint64_t>>{{7, 3}}));
  EXPECT_EQ(pending_.count(), 0U);
}

// Its contact may come from an answer of the run before.
TEST_F(PendingFencesTest, a_server_that_has_not_said_anything_yet_is_called_all_the_same) {
  auto again = DataServers::open(directory_.get(), time_, {});
  PendingFences pending(objects_, **again);
  objects_.set_silent(the_server, true);
  const ClientFence fence{pnfs::ClientTag(7), pnfs::GrantNumber(3)};
  EXPECT_EQ(now(pending.put(the_server, fence)).error(), vfs::Error::delay);
  objects_.set_silent(the_server, false);
  EXPECT_TRUE(now(pending.put(the_server, fence)));
  EXPECT_EQ(told().size(), 1U);
}

TEST_F(PendingFencesTest, a_client_has_one_fence_that_only_grows) {
  objects_.set_silent(the_server, true);
  time_.advance(51s);
  EXPECT_TRUE(put(7, 3));
  EXPECT_TRUE(put(7, 5));
  EXPECT_TRUE(put(7, 4));
  EXPECT_TRUE(put(8, 1));
  EXPECT_EQ(pending_.count(), 2U);
  pending_.forget_below(pnfs::GrantNumber(5));
  EXPECT_EQ(pending_.count(), 1U) << "what is below the lowest grant is refused anyway";
  objects_.set_silent(the_server, false);
  EXPECT_TRUE(now(pending_.deliver(the_server)));
  EXPECT_EQ(told(), (std::vector<std::pair<std::uint64_t, std::uint64_t>>{{7, 5}}));
}

TEST_F(PendingFencesTest, more_than_a_batch_is_told_in_several) {
  time_.advance(51s);
  for (std::uint64_t client = 1; client <= ObjectCalls::batch_max + 1; ++client) EXPECT_TRUE(put(client, 1));
  EXPECT_TRUE(now(pending_.deliver(the_server)));
  EXPECT_EQ(told().size(), ObjectCalls::batch_max + 1);
  EXPECT_EQ(objects_.calls("fence"), 2U);
}

}  // namespace
}  // namespace braid::pnfs_mds::test
