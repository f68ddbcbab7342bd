#include "pnfs_mds/journal.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "tests/unit/pnfs_mds/scratch.h"

namespace braid::pnfs_mds::test {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

base::Bytes record_named(std::string_view text) {
  const base::BytesView bytes = base::bytes_of(text);
  return {bytes.begin(), bytes.end()};
}

class JournalTest : public ScratchTest {
 protected:
  base::Result<std::unique_ptr<Journal>> open() {
    taken_.clear();
    const auto snapshot = [this] {
      std::vector<base::Bytes> records;
      for (const std::string& text : current_) records.push_back(record_named(text));
      return records;
    };
    return Journal::open(directory_.get(), "log", snapshot,
                         [this](base::BytesView record) { taken_.emplace_back(base::text_of(record)); });
  }
  static io::Op<> append_one(Journal& journal, std::string text, int& ended) {
    const auto done = co_await journal.append(record_named(text)).as_result();
    EXPECT_TRUE(done.has_value());
    ++ended;
  }

  std::vector<std::string> taken_, current_;
};

TEST_F(JournalTest, keeps_what_was_appended) {
  auto journal = open();
  EXPECT_TRUE(now((*journal)->append(record_named("a"))));
  EXPECT_TRUE(now((*journal)->append(record_named("b"))));
  journal->reset();
  EXPECT_TRUE(open());
  EXPECT_THAT(taken_, ElementsAre("a", "b"));
}

TEST_F(JournalTest, callers_that_come_together_share_a_write_and_lose_nothing) {
  io::BlockingPool pool({});
  {
    auto journal = open();
    (*journal)->use(pool);
    run([&]() -> io::Op<> {
      io::Gate gate;
      int ended = 0;
      for (int i = 0; i < 100; ++i) io::spawn(gate, append_one(**journal, std::to_string(i), ended));
      co_await gate.drained();
      EXPECT_EQ(ended, 100);
    });
  }
  EXPECT_LE(pool.stats().jobs[static_cast<std::size_t>(io::BlockingReason::sync)], 3U);
  EXPECT_TRUE(open());
  EXPECT_THAT(taken_, SizeIs(100));
}

TEST_F(JournalTest, a_log_of_which_little_is_of_use_is_written_anew) {
  auto journal = open();
  current_ = {"of use"};
  const std::string large(4000, 'x');
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(now((*journal)->append(record_named(large))));
  EXPECT_LT(std::filesystem::file_size(path_ / "log"), 2 * Journal::small_bytes);
  journal->reset();
  EXPECT_TRUE(open());
  EXPECT_EQ(taken_.front(), "of use");
}

TEST_F(JournalTest, a_damaged_log_is_not_opened) {
  std::ofstream(path_ / "log") << "something else, and long enough to be looked at";
  EXPECT_EQ(open().error(), base::errno_of(EBADMSG));
}

}  // namespace
}  // namespace braid::pnfs_mds::test
