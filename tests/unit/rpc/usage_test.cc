// What is done for whom, and who is named.
#include "rpc/usage.h"

#include <gtest/gtest.h>

#include <thread>

namespace braid::rpc {
namespace {

PeerAddress host(std::uint8_t number) {
  PeerAddress out;
  out.bytes[10] = out.bytes[11] = 0xff;
  out.bytes[12] = 10;
  out.bytes[15] = number;
  return out;
}

UsageCounts looks(std::uint64_t times) {
  UsageCounts out;
  out.operations[static_cast<std::size_t>(Work::look)] = times;
  return out;
}

class UsageTest : public testing::Test {
 protected:
  // One more connection of the host, that stays.
  UsageLedger& connect(std::uint8_t number) {
    return *ledgers_.emplace_back(number, usage_.begin(host(number))).second;
  }
  void disconnect_all() {
    for (const auto& [number, ledger] : ledgers_) usage_.end(host(number), ledger);
    ledgers_.clear();
  }
  static void look(UsageLedger& ledger, int times) {
    for (int i = 0; i < times; ++i) ledger.count(1, Work::look, false);
  }
  [[nodiscard]] std::map<std::string, UsageCounts> named() const {
    std::map<std::string, UsageCounts> out;
    for (const Usage::Named& one : usage_.by_client().named) out.emplace(one.client, one.counts);
    return out;
  }
  [[nodiscard]] UsageCounts other() const { return usage_.by_client().other; }

  Usage usage_;
  std::vector<std::pair<std::uint8_t, std::shared_ptr<UsageLedger>>> ledgers_;
};

TEST_F(UsageTest, it_is_counted_by_export_and_kind) {
  UsageLedger& one = connect(1);
  UsageLedger& two = connect(2);
  one.count(7, Work::read, false);
  one.read(7, 100);
  two.count(7, Work::write, true);
  two.wrote(7, 50);
  two.count(8, Work::look, false);
  two.count(0, Work::none, true);
  disconnect_all();
  connect(1).count(7, Work::read, false);
  UsageByExport counts = usage_.by_export();
  UsageCounts seven;
  seven.operations[static_cast<std::size_t>(Work::read)] = 2;
  seven.operations[static_cast<std::size_t>(Work::write)] = 1;
  seven.errors = 1;
  seven.read_bytes = 100;
  seven.written_bytes = 50;
  EXPECT_EQ(counts[7], seven);
  EXPECT_EQ(counts[8], looks(1));
  EXPECT_EQ(counts[0].all_operations(), 0U);
  EXPECT_EQ(counts[0].errors, 1U);
}

TEST_F(UsageTest, the_busiest_are_named_from_then_on) {
  UsageLedger& busy = connect(1);
  look(busy, 5);
  EXPECT_TRUE(named().empty());
  EXPECT_EQ(other(), looks(5));
  usage_.rank();
  look(busy, 3);
  look(connect(1), 4);
  EXPECT_EQ(named().at("10.0.0.1"), looks(7)) << "of all its connections";
  EXPECT_EQ(other(), looks(5));
}

TEST_F(UsageTest, there_are_as_many_names_as_there_may_be_and_nothing_goes_down) {
  for (std::uint8_t i = 1; i <= Usage::named_max + 5; ++i) look(connect(i), 10 * i);
  usage_.rank();
  EXPECT_EQ(named().size(), Usage::named_max);
  EXPECT_FALSE(named().contains("10.0.0.5"));
  EXPECT_TRUE(named().contains("10.0.0.6"));
  look(*ledgers_[5].second, 1);  // of host 6
  const UsageCounts before = other();
  look(*ledgers_[0].second, 100'000);
  usage_.rank();
  EXPECT_TRUE(named().contains("10.0.0.1"));
  EXPECT_FALSE(named().contains("10.0.0.6")) << "the least busy one made room";
  look(*ledgers_[0].second, 2);
  EXPECT_EQ(named().at("10.0.0.1"), looks(2));
  UsageCounts expected = before;
  expected += looks(100'000);
  EXPECT_EQ(other(), expected) << "what host 6 did by its name is not others'";
  look(*ledgers_[5].second, 200'000);
  usage_.rank();
  EXPECT_EQ(named().at("10.0.0.6"), looks(1)) << "goes on where it was";
  expected += looks(200'000);
  EXPECT_EQ(other(), expected);
}

TEST_F(UsageTest, one_that_is_about_as_busy_does_not_take_its_place) {
  for (std::uint8_t i = 1; i <= Usage::named_max; ++i) look(connect(i), 1000);
  usage_.rank();
  look(connect(100), 1100);
  usage_.rank();
  EXPECT_FALSE(named().contains("10.0.0.100"));
}

TEST_F(UsageTest, who_is_gone_keeps_its_name_for_a_while) {
  look(connect(1), 100);
  usage_.rank();
  look(*ledgers_.front().second, 1);
  look(connect(2), 7);
  disconnect_all();
  EXPECT_EQ(named().at("10.0.0.1"), looks(1));
  EXPECT_EQ(other(), looks(107));
  for (int second = 0; second < 3600; ++second) usage_.rank();
  EXPECT_TRUE(named().empty());
  EXPECT_EQ(other(), looks(107)) << "nothing goes down, and nothing comes late";
}

TEST_F(UsageTest, others_may_look_while_a_thread_counts) {
  UsageLedger& ledger = connect(1);
  std::thread counting([&] {
    for (std::uint32_t i = 0; i < 10'000; ++i) ledger.count(i % 50, Work::look, false);
  });
  std::uint64_t before = 0;
  for (int looked = 0; looked < 100; ++looked) {
    const std::uint64_t now = other().all_operations();
    EXPECT_GE(now, before);
    before = now;
  }
  counting.join();
  EXPECT_EQ(other(), looks(10'000));
  EXPECT_EQ(usage_.by_export().size(), 50U);
}

}  // namespace
}  // namespace braid::rpc
