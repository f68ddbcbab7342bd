// What a server does for a store as a whole, when it is due and when somebody asks for it.
#include "server/roles/stores/upkeep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/background_thread.h"
#include "base/big_endian.h"
#include "base/manual/manual_clock.h"
#include "store/maintenance/scrubber.h"
#include "tests/unit/vfs/sandbox.h"

namespace braid::server::roles::stores {
namespace {

class UpkeepTest : public testing::Test {
 protected:
  static constexpr auto day = std::chrono::hours(24);

  UpkeepTest() {
    std::string pattern = testing::TempDir() + "store-XXXXXX";
    place_ = ::mkdtemp(pattern.data());
    store_ = std::move(*store::Store::open(place_, {.what = store::OpenFor::creating}));
    source_ = std::make_unique<store::StoreSource>(*store_);
  }
  ~UpkeepTest() override {
    upkeep_.reset();
    source_.reset();
    store_.reset();
    std::filesystem::remove_all(place_);
  }
  Upkeep& start() {
    upkeep_ = std::make_unique<Upkeep>(config_, *store_, *source_);
    upkeep_->start(clock_);
    return *upkeep_;
  }
  // The time limit of the test tells how long that may take.
  template <class Condition>
  static void until(Condition condition) {
    while (!condition()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  void collect() {
    const auto number = upkeep_->collect();
    ASSERT_TRUE(number) << number.error();
    until([&] { return upkeep_->collection(*number)->ended; });
  }

  std::filesystem::path place_;
  config::StoreConfig config_;
  base::ManualClock clock_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<store::StoreSource> source_;
  std::unique_ptr<Upkeep> upkeep_;
};

TEST_F(UpkeepTest, what_somebody_asks_for_is_done_and_told) {
  Upkeep& upkeep = start();
  EXPECT_FALSE(upkeep.collection(1));
  const auto number = upkeep.collect();
  ASSERT_TRUE(number);
  until([&] { return upkeep.collection(*number)->ended; });
  EXPECT_EQ(upkeep.collection(*number)->report.alarm, "");
  EXPECT_GE(upkeep.counts().collections, 1U);
  const auto pass = upkeep.scrub();
  ASSERT_TRUE(pass);
  until([&] { return upkeep.scrub_pass(*pass)->ended; });
  EXPECT_EQ(upkeep.scrub_counts().bad, 0U);
  EXPECT_GT(upkeep.scrub_counts().ended_at, 0U);
  EXPECT_FALSE(upkeep.scrub_pass(*pass + 1));
}

TEST_F(UpkeepTest, it_gives_way_to_calls) {
  start();
  collect();
  std::vector<int> nice;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task"))
    nice.push_back(::getpriority(PRIO_PROCESS, static_cast<id_t>(std::stoi(thread.path().filename()))));
  EXPECT_THAT(nice, testing::Contains(base::background_nice));
}

TEST_F(UpkeepTest, garbage_is_looked_for_four_times_while_it_is_kept) {
  Upkeep& upkeep = start();
  collect();
  const std::uint64_t before = upkeep.counts().collections;
  upkeep.look();
  clock_.advance(day / 4 - std::chrono::seconds(1));
  upkeep.look();
  EXPECT_FALSE(upkeep.counts().collecting);
  EXPECT_EQ(upkeep.counts().collections, before);
  clock_.advance(std::chrono::seconds(2));
  upkeep.look();
  until([&] { return upkeep.counts().collections > before; });
}

TEST_F(UpkeepTest, all_chunks_are_read_each_scrub_days) {
  config_.scrub_days = 2;
  Upkeep& upkeep = start();
  until([&] {
    upkeep.look();
    return upkeep.scrub_counts().passes == 1;
  });
  clock_.advance(day);
  upkeep.look();
  collect();
  EXPECT_EQ(upkeep.scrub_counts().passes, 1U);
  clock_.advance(day);
  upkeep.look();
  until([&] { return upkeep.scrub_counts().passes == 2; });
}

TEST_F(UpkeepTest, nothing_is_read_with_0_scrub_days) {
  config_.scrub_days = 0;
  Upkeep& upkeep = start();
  collect();
  clock_.advance(day * 1000);
  upkeep.look();
  collect();
  EXPECT_EQ(upkeep.scrub_counts().passes, 0U);
  EXPECT_TRUE(upkeep.scrub()) << "but by who asks";
}

TEST_F(UpkeepTest, an_alarm_stays_until_all_can_be_looked_at) {
  Upkeep& upkeep = start();
  std::filesystem::rename(place_ / "trees", place_ / "gone");
  collect();
  EXPECT_THAT(upkeep.counts().alarm, testing::HasSubstr("trees"));
  EXPECT_EQ(upkeep.counts().alarms, 1U);
  std::filesystem::rename(place_ / "gone", place_ / "trees");
  collect();
  EXPECT_EQ(upkeep.counts().alarm, "");
  EXPECT_EQ(upkeep.counts().alarms, 1U);
}

TEST_F(UpkeepTest, the_index_is_made_anew_first) {
  const base::Bytes bytes(5000, std::byte{7});
  const store::ChunkRef first = *store_->chunks().put(store::ChunkKind::data, bytes);
  source_.reset();
  store_.reset();
  std::filesystem::remove_all(place_ / "index");
  store_ = std::move(*store::Store::open(place_, {.what = store::OpenFor::writing, .index_later = true}));
  source_ = std::make_unique<store::StoreSource>(*store_);
  EXPECT_FALSE(store_->chunks().index_filler().done());
  start();
  collect();
  EXPECT_TRUE(store_->chunks().index_filler().done());
  EXPECT_EQ(*store_->chunks().put(store::ChunkKind::data, bytes), first);
}

// What found no room in the index is looked for in the containers when there may be some.
TEST_F(UpkeepTest, what_a_full_disk_kept_from_the_index_comes_to_it_later) {
  const auto disk = vfs::mount_tmpfs("size=32m");
  if (!disk) GTEST_SKIP() << disk.error();
  source_.reset();
  store_.reset();
  std::filesystem::remove_all(place_);
  place_ = std::filesystem::path(*disk) / "store";
  store_ = std::move(
      *store::Store::open(place_, {.what = store::OpenFor::creating,
                                   .index = {.cache_bytes = base::MiB, .buffer_bytes = 256 * base::KiB}}));
  source_ = std::make_unique<store::StoreSource>(*store_);
  ASSERT_TRUE(store_->chunks().put(store::ChunkKind::data, base::Bytes(5000, std::byte{7})));
  const std::string filler = *disk + "/filler";
  {
    std::ofstream full(filler, std::ios::binary);
    const std::string page(4096, 'x');
    while (full.write(page.data(), static_cast<std::streamsize>(page.size())).flush()) {
    }
  }
  hashing::Digest id;
  for (std::uint32_t i = 0; i < 200'000 && !store_->index()->has_lost(); ++i) {
    base::store_be<std::uint32_t>(id.bytes, 0, i * 2'654'435'761U);
    store_->index()->put(id, {0, 1, 64});
  }
  ASSERT_TRUE(store_->index()->has_lost()) << "it was never full";
  const auto knows_all = [&] {
    return store_->chunks().index_filler().done() && !store_->index()->has_lost();
  };
  Upkeep& upkeep = start();
  collect();
  EXPECT_FALSE(knows_all()) << "there is no room";
  std::filesystem::remove(filler);
  until([&] {
    clock_.advance(std::chrono::seconds(10));
    upkeep.look();
    return knows_all();
  });
}

TEST_F(UpkeepTest, of_a_store_that_is_read_only_nothing_is_done) {
  source_.reset();
  store_.reset();
  store_ = std::move(*store::Store::open(place_, {.what = store::OpenFor::reading}));
  source_ = std::make_unique<store::StoreSource>(*store_);
  Upkeep& upkeep = start();
  EXPECT_FALSE(upkeep.collect());
  EXPECT_FALSE(upkeep.scrub());
}

}  // namespace
}  // namespace braid::server::roles::stores
