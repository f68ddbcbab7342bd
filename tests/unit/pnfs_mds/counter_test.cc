#include "pnfs_mds/counter.h"

#include <set>

#include "pnfs/record_log.h"
#include "tests/unit/pnfs_mds/scratch.h"

namespace braid::pnfs_mds::test {
namespace {

class CounterTest : public ScratchTest {
 protected:
  static constexpr std::uint64_t no_limit = ~std::uint64_t{0};
  base::Result<std::unique_ptr<Counter>> open(std::uint64_t limit = no_limit) {
    return Counter::open(directory_.get(), "numbers", limit);
  }
  static io::Op<> take(Counter& counter, std::uint32_t count, std::set<std::uint64_t>& taken) {
    const auto first = co_await counter.next(count).as_result();
    for (std::uint64_t i = 0; i < count; ++i) EXPECT_TRUE(taken.insert(first.value_or(0) + i).second);
  }
};

TEST_F(CounterTest, counts_from_one) {
  const auto counter = open().value();
  EXPECT_EQ(counter->last(), 0U);
  EXPECT_EQ(now(counter->next(1)), 1U);
  EXPECT_EQ(now(counter->next(10)), 2U);
  EXPECT_EQ(now(counter->next(1)), 12U);
  EXPECT_EQ(counter->last(), 12U);
}

TEST_F(CounterTest, gives_no_number_out_again_after_a_crash) {
  std::uint64_t largest = 0;
  {
    const auto counter = open().value();
    for (int i = 0; i < 3; ++i) largest = now(counter->next(Counter::block)).value() + Counter::block - 1;
    EXPECT_EQ(largest, 3 * Counter::block);
  }
  const auto counter = open().value();
  EXPECT_GE(counter->last(), largest);
  EXPECT_GT(now(counter->next(1)).value(), largest);
}

TEST_F(CounterTest, reserves_in_blocks) {
  {
    const auto counter = open().value();
    EXPECT_TRUE(now(counter->next(1)));
    const auto bytes = std::filesystem::file_size(path_ / "numbers");
    for (std::uint64_t i = 1; i < Counter::block; ++i) EXPECT_TRUE(now(counter->next(1)));
    EXPECT_EQ(std::filesystem::file_size(path_ / "numbers"), bytes);
  }
  const auto counter = open().value();
  EXPECT_EQ(counter->last(), Counter::block);
}

TEST_F(CounterTest, has_a_limit) {
  const auto counter = open(Counter::block + 10).value();
  EXPECT_TRUE(now(counter->next(Counter::block)));
  EXPECT_EQ(now(counter->next(1)).error(), vfs::Error::nospc);
}

TEST_F(CounterTest, callers_at_the_same_time_have_different_numbers) {
  io::BlockingPool pool({});
  const auto counter = open().value();
  counter->use(pool);
  run([&]() -> io::Op<> {
    std::set<std::uint64_t> taken;
    io::Gate gate;
    for (std::uint32_t i = 0; i < 50; ++i) io::spawn(gate, take(*counter, 300 + i, taken));
    co_await gate.drained();
    EXPECT_EQ(taken.size(), 50U * 300 + 49 * 25);
  });
}

TEST_F(CounterTest, records_that_go_back_are_damage) {
  {
    auto log = pnfs::RecordLog::open(directory_.get(), "numbers", [](base::BytesView) {}).value();
    const std::vector<base::Bytes> records{base::Bytes(8, std::byte{1}), base::Bytes(8, std::byte{0})};
    EXPECT_TRUE(log->append(records));
  }
  EXPECT_EQ(open().error(), base::errno_of(EBADMSG));
}

}  // namespace
}  // namespace braid::pnfs_mds::test
