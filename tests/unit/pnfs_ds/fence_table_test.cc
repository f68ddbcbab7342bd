#include "pnfs_ds/fence_table.h"

#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

namespace braid::pnfs_ds {
namespace {

using pnfs::ClientTag;
using pnfs::Epoch;
using pnfs::GrantNumber;
using pnfs::ObjectId;

constexpr ObjectKey key_of(std::uint64_t object) { return {ObjectId(object), 0}; }

pnfs::DataHandle handle(std::uint64_t object, std::uint64_t grant, std::uint32_t epoch = 1,
                        std::uint64_t client = 1) {
  pnfs::DataHandle out;
  out.object = ObjectId(object);
  out.grant = GrantNumber(grant);
  out.epoch = Epoch(epoch);
  out.client = ClientTag(client);
  return out;
}

TEST(FenceTableTest, refuses_nothing_at_first) { EXPECT_EQ(FenceTable().check(handle(1, 1)), Refusal::none); }

TEST(FenceTableTest, older_epochs_of_an_object_are_fenced) {
  FenceTable table;
  table.add(EpochFence{key_of(1), Epoch(3), GrantNumber(10)});
  EXPECT_EQ(table.check(handle(1, 11, 2)), Refusal::fenced);
  EXPECT_EQ(table.check(handle(1, 11, 3)), Refusal::none);
  EXPECT_EQ(table.check(handle(2, 11, 2)), Refusal::none);
  table.add(EpochFence{key_of(1), Epoch(2), GrantNumber(12)});
  EXPECT_EQ(table.check(handle(1, 11, 2)), Refusal::fenced) << "fences only grow";
}

constexpr pnfs::KeptHandles kept{.client = ClientTag(1), .from = GrantNumber(7)};

TEST(FenceTableTest, a_new_epoch_may_leave_a_client_its_handles_for_writing) {
  FenceTable table;
  table.add(EpochFence{key_of(1), Epoch(3), GrantNumber(10), kept});
  const auto check = [&](std::uint64_t grant, std::uint64_t client, pnfs::Iomode iomode) {
    pnfs::DataHandle one = handle(1, grant, 2, client);
    one.iomode = iomode;
    return table.check(one);
  };
  using enum pnfs::Iomode;
  EXPECT_EQ(check(7, 1, read_write), Refusal::none);
  EXPECT_EQ(check(8, 1, read_write), Refusal::none) << "the same layout, asked for once more";
  EXPECT_EQ(check(6, 1, read_write), Refusal::fenced) << "it was returned";
  EXPECT_EQ(check(7, 2, read_write), Refusal::fenced) << "another client's";
  EXPECT_EQ(check(7, 1, read), Refusal::fenced) << "it may tell of a size";
  EXPECT_EQ(table.check(handle(1, 7, 3, 2)), Refusal::none) << "of the epoch itself";
  table.add(BarredClient{ClientTag(1), GrantNumber(8)});
  EXPECT_EQ(check(8, 1, read_write), Refusal::barred);
  table.add(LowestGrant{GrantNumber(9)});
  EXPECT_EQ(check(8, 1, read_write), Refusal::returned);
}

TEST(FenceTableTest, what_one_epoch_left_in_force_the_next_one_ends) {
  FenceTable table;
  pnfs::DataHandle old = handle(1, 8);
  old.iomode = pnfs::Iomode::read_write;
  table.add(EpochFence{key_of(1), Epoch(2), GrantNumber(10), kept});
  table.add(EpochFence{key_of(1), Epoch(2), GrantNumber(10)});
  EXPECT_EQ(table.check(old), Refusal::none) << "the same truncation, told twice";
  table.add(EpochFence{key_of(1), Epoch(3), GrantNumber(11)});
  EXPECT_EQ(table.check(old), Refusal::fenced);
  table.add(EpochFence{key_of(1), Epoch(3), GrantNumber(11), kept});
  EXPECT_EQ(table.check(old), Refusal::fenced) << "it is in force";
  table.add(EpochFence{key_of(1), Epoch(2), GrantNumber(12), kept});
  EXPECT_EQ(table.check(old), Refusal::fenced) << "a late one";
}

TEST(FenceTableTest, what_is_in_force_need_not_be_added) {
  FenceTable table;
  const EpochFence fence{key_of(1), Epoch(3), GrantNumber(10)};
  EXPECT_TRUE(table.in_force(EpochFence{key_of(1), Epoch(1), GrantNumber(10)})) << "there is no older epoch";
  EXPECT_FALSE(table.in_force(fence));
  table.add(fence);
  EXPECT_TRUE(table.in_force(fence));
  EXPECT_TRUE(table.in_force(EpochFence{key_of(1), Epoch(2), GrantNumber(12)}));
  EXPECT_FALSE(table.in_force(EpochFence{key_of(1), Epoch(4), GrantNumber(10)}));
  EXPECT_FALSE(table.in_force(EpochFence{key_of(2), Epoch(3), GrantNumber(10)}));
  const RemovedObject removed{key_of(1), GrantNumber(12)};
  EXPECT_FALSE(table.in_force(removed));
  table.add(removed);
  EXPECT_TRUE(table.in_force(removed));
  EXPECT_FALSE(table.in_force(RemovedObject{key_of(1), GrantNumber(13)}));
  const BarredClient barred{ClientTag(7), GrantNumber(10)};
  EXPECT_FALSE(table.in_force(barred));
  table.add(barred);
  EXPECT_TRUE(table.in_force(barred));
  EXPECT_FALSE(table.in_force(BarredClient{ClientTag(7), GrantNumber(11)}));
  EXPECT_FALSE(table.in_force(LowestGrant{GrantNumber(1)}));
}

TEST(FenceTableTest, other_objects_of_the_file_are_not_meant) {
  FenceTable table;
  table.add(EpochFence{{ObjectId(1), 2}, Epoch(3), GrantNumber(10)});
  EXPECT_EQ(table.check(handle(1, 11, 2)), Refusal::none);
}

TEST(FenceTableTest, a_removed_object_stays_removed) {
  FenceTable table;
  table.add(RemovedObject{key_of(1), GrantNumber(10)});
  table.add(EpochFence{key_of(1), Epoch(3), GrantNumber(10)});
  EXPECT_EQ(table.check(handle(1, 11, 9)), Refusal::removed);
}

TEST(FenceTableTest, a_barred_client_needs_a_new_grant) {
  FenceTable table;
  table.add(BarredClient{ClientTag(7), GrantNumber(10)});
  table.add(BarredClient{ClientTag(7), GrantNumber(8)});
  EXPECT_EQ(table.check(handle(1, 10, 1, 7)), Refusal::barred);
  EXPECT_EQ(table.check(handle(1, 11, 1, 7)), Refusal::none);
  EXPECT_EQ(table.check(handle(1, 10, 1, 8)), Refusal::none);
}

TEST(FenceTableTest, the_lowest_grant_refuses_and_makes_the_rest_needless) {
  FenceTable table;
  table.add(EpochFence{key_of(1), Epoch(3), GrantNumber(10)});
  table.add(RemovedObject{key_of(2), GrantNumber(11)});
  table.add(BarredClient{ClientTag(7), GrantNumber(12)});
  EXPECT_EQ(table.size(), 3U);
  table.add(LowestGrant{GrantNumber(11)});
  EXPECT_EQ(table.check(handle(1, 10, 9)), Refusal::returned);
  EXPECT_EQ(table.size(), 3U) << "the fence of object 1 has gone, the lowest grant has come";
  EXPECT_EQ(table.check(handle(2, 11)), Refusal::removed);
  table.add(LowestGrant{GrantNumber(13)});
  EXPECT_EQ(table.size(), 1U);
  table.add(LowestGrant{GrantNumber(5)});
  EXPECT_EQ(table.check(handle(1, 12)), Refusal::returned) << "it does not fall";
  table.add(BarredClient{ClientTag(7), GrantNumber(12)});
  EXPECT_EQ(table.size(), 1U);
}

// Whatever order things happen in, a table that is made of its records refuses the same.
TEST(FenceTableTest, its_records_make_the_same_table) {
  std::mt19937_64 random(1);
  const auto below = [&](std::uint64_t bound) { return random() % bound; };
  for (int round = 0; round < 200; ++round) {
    FenceTable table;
    for (int i = 0; i < 40; ++i) {
      const GrantNumber grant(1 + below(50));
      switch (below(5)) {
        case 4:
          table.add(EpochFence{key_of(below(4)), Epoch(static_cast<std::uint32_t>(1 + below(5))), grant,
                               pnfs::KeptHandles{ClientTag(below(4)), GrantNumber(1 + below(50))}});
          break;
        case 0:
          table.add(EpochFence{key_of(below(4)), Epoch(static_cast<std::uint32_t>(1 + below(5))), grant});
          break;
        case 1:
          table.add(RemovedObject{key_of(below(4)), grant});
          break;
        case 2:
          table.add(BarredClient{ClientTag(below(4)), grant});
          break;
        default:
          table.add(LowestGrant{GrantNumber(below(20))});
      }
    }
    FenceTable again;
    const std::vector<FenceRecord> records = table.records();
    EXPECT_EQ(records.size(), table.size());
    for (const FenceRecord& record : records) again.add(record);
    for (std::uint64_t object = 0; object < 4; ++object)
      for (std::uint64_t grant = 1; grant <= 50; ++grant)
        for (std::uint32_t epoch = 1; epoch <= 5; ++epoch)
          for (std::uint64_t client = 0; client < 4; ++client) {
            pnfs::DataHandle one = handle(object, grant, epoch, client);
            one.iomode = pnfs::Iomode::read_write;
            ASSERT_EQ(again.check(one), table.check(one));
          }
  }
}

// A grant that was refused once is refused for ever, whoever looks, while others add fences.
TEST(FenceTableTest, is_looked_at_while_it_grows) {
  FenceTable table;
  std::atomic<bool> end{false};
  std::vector<std::thread> readers;
  for (std::uint64_t object = 0; object < 3; ++object)
    readers.emplace_back([&, object] {
      bool refused = false;
      while (!end.load()) {
        const bool now = table.check(handle(object, 5)) != Refusal::none;
        EXPECT_TRUE(now || !refused);
        refused = now;
      }
    });
  for (std::uint64_t i = 1; i <= 2000; ++i) {
    table.add(EpochFence{key_of(i % 3), Epoch(static_cast<std::uint32_t>(i)), GrantNumber(i)});
    table.add(BarredClient{ClientTag(i), GrantNumber(i)});
    if (i % 100 == 0) table.add(LowestGrant{GrantNumber(i / 2)});
    (void)table.records();
  }
  end.store(true);
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(table.check(handle(0, 5)), Refusal::returned);
}

}  // namespace
}  // namespace braid::pnfs_ds
