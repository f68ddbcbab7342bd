// What clients of 4.0 held when a run ended, as the next one knows it, and what its grace period does with
// it.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "nfs4/recovery/client_store.h"
#include "nfs4/state/clients/grace.h"

namespace braid::nfs4::recovery {
namespace {

using namespace std::chrono_literals;
using state::Grace;
using state::Held;
using state::KnownClient;

constexpr Held something{.states = 3, .sum = 0x123456789abcdef0};

KnownClient holder(std::string_view owner, std::optional<Held> held = std::nullopt) {
  const base::BytesView view = base::bytes_of(owner);
  return {.minor_version = 0, .owner = {view.begin(), view.end()}, .verifier = {}, .held = held};
}

class HeldRecordsTest : public testing::Test {
 protected:
  HeldRecordsTest() : directory_(testing::TempDir() + "held_XXXXXX") {
    EXPECT_NE(::mkdtemp(directory_.data()), nullptr);
  }
  ~HeldRecordsTest() override { std::filesystem::remove_all(directory_); }

  std::unique_ptr<ClientStore> start() {
    auto store = ClientStore::open(directory_ + "/nfs4");
    EXPECT_TRUE(store) << base::message_of(store.error());
    return std::move(*store);
  }
  // A run with these clients, which ends in order.
  void run(const std::vector<KnownClient>& clients) {
    const auto store = start();
    std::vector<RecordChange> changes;
    changes.reserve(clients.size());
    for (const KnownClient& client : clients)
      changes.push_back({RecordChange::What::record, client, changes.size() + 1});
    EXPECT_TRUE(store->apply(changes));
    std::vector<KnownClient> held;
    for (const KnownClient& client : clients)
      if (client.held) held.push_back(client);
    EXPECT_TRUE(store->note_held(held));
  }
  static std::optional<Held> held_of(const ClientStore& store, std::string_view owner) {
    const auto found = std::ranges::find(store.known(), holder(owner));
    EXPECT_NE(found, store.known().end()) << owner;
    return found == store.known().end() ? std::nullopt : found->held;
  }

  std::string directory_;
};

TEST_F(HeldRecordsTest, the_next_run_knows_what_was_held_and_no_later_one) {
  run({holder("a", something), holder("b", Held{}), holder("c")});
  {
    const auto next = start();
    EXPECT_EQ(held_of(*next, "a"), something);
    EXPECT_EQ(held_of(*next, "b"), Held{});
    EXPECT_EQ(held_of(*next, "c"), std::nullopt);
  }
  // It went down before its grace period was over: who had begun to reclaim may hold more by now, or less.
  const auto later = start();
  EXPECT_EQ(held_of(*later, "a"), std::nullopt);
  EXPECT_EQ(held_of(*later, "b"), std::nullopt);
}

TEST_F(HeldRecordsTest, of_a_damaged_file_nothing_is_believed) {
  const std::string path = directory_ + "/nfs4/held";
  run({holder("a", something)});
  const auto size = std::filesystem::file_size(path);
  for (std::uintmax_t at = 0; at <= size; at += 3) {
    run({holder("a", something)});
    if (at < size) {
      std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
      file.seekg(static_cast<std::streamoff>(at));
      const int byte = file.get();
      file.seekp(static_cast<std::streamoff>(at));
      file.put(static_cast<char>(byte ^ 1));
    } else {
      std::filesystem::resize_file(path, size - 1);
    }
    EXPECT_EQ(held_of(*start(), "a"), std::nullopt) << at;
  }
}

class HeldGraceTest : public testing::Test {
 protected:
  static state::Client client(std::string_view owner) {
    state::Introduction out;
    out.minor_version = 0;
    out.owner = holder(owner).owner;
    return {7, out, {}};
  }
  static std::vector<clientid4> ids_of(const std::vector<Grace::Paused>& paused) {
    std::vector<clientid4> out;
    out.reserve(paused.size());
    for (const Grace::Paused& one : paused) out.push_back(one.client);
    return out;
  }
  using Ids = std::vector<clientid4>;

  const base::TimePoint start_{100s};
};

TEST_F(HeldGraceTest, who_held_nothing_is_not_waited_for) {
  EXPECT_TRUE(Grace({holder("a", Held{}), holder("b", Held{})}, start_, 90s).due(start_));
  EXPECT_TRUE(Grace({holder("a", Held{})}, start_, 90s).active()) << "its end is to be made durable";
  EXPECT_FALSE(Grace({holder("a", Held{}), holder("b")}, start_, 90s).due(start_))
      << "b may have held something";
  EXPECT_FALSE(Grace({holder("a", Held{}), holder("b", something)}, start_, 90s).due(start_));
}

TEST_F(HeldGraceTest, who_has_paused_is_looked_at_once_in_each_pause) {
  Grace grace({holder("a", something), holder("b", something)}, start_, 90s);
  EXPECT_TRUE(grace.take_paused(start_ + 50s).empty()) << "nobody has come back";
  grace.note_reclaim(client("a"), start_ + 10s);
  EXPECT_TRUE(grace.take_paused(start_ + 14s).empty()) << "it may be at it";
  const auto paused = grace.take_paused(start_ + 15s);
  ASSERT_EQ(ids_of(paused), Ids{7});
  EXPECT_EQ(paused.front().held, something);
  EXPECT_TRUE(grace.take_paused(start_ + 30s).empty()) << "it holds what it did then";
  grace.note_reclaim(client("a"), start_ + 40s);
  EXPECT_TRUE(grace.take_paused(start_ + 44s).empty());
  EXPECT_EQ(ids_of(grace.take_paused(start_ + 45s)), Ids{7});
  grace.completed(paused.front().name);
  EXPECT_FALSE(grace.due(start_ + 45s)) << "b has not";
  EXPECT_EQ(grace.waiting(), 1U);
  EXPECT_TRUE(grace.admit_reclaim(client("a"))) << "as long as the period lasts";
}

TEST_F(HeldGraceTest, of_whom_nothing_is_known_nothing_is_compared) {
  Grace grace({holder("a"), holder("b", something)}, start_, 90s);
  grace.note_reclaim(client("a"), start_);
  grace.note_reclaim(client("stranger"), start_);
  EXPECT_TRUE(grace.take_paused(start_ + 60s).empty());
  grace.note_reclaim(client("b"), start_);
  grace.forget(client("b"));
  EXPECT_TRUE(grace.take_paused(start_ + 60s).empty()) << "it was evicted";
}

}  // namespace
}  // namespace braid::nfs4::recovery
