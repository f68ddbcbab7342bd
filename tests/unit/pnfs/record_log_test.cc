#include "pnfs/record_log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace braid::pnfs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

base::Bytes record_of(std::string_view text) {
  const base::BytesView bytes = base::bytes_of(text);
  return {bytes.begin(), bytes.end()};
}

class RecordLogTest : public testing::Test {
 protected:
  RecordLogTest() {
    std::string name = testing::TempDir() + "record_log_XXXXXX";
    path_ = ::mkdtemp(name.data());
    directory_ = base::UniqueFd(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  ~RecordLogTest() override { std::filesystem::remove_all(path_); }

  // What it has is in taken_.
  base::Result<std::unique_ptr<RecordLog>> open() {
    taken_.clear();
    return RecordLog::open(directory_.get(), "log",
                           [this](base::BytesView record) { taken_.emplace_back(base::text_of(record)); });
  }
  static void add(RecordLog& log, const std::vector<std::string_view>& texts) {
    std::vector<base::Bytes> records;
    for (const std::string_view text : texts) records.push_back(record_of(text));
    ASSERT_TRUE(log.append(records));
  }
  std::string content() const {
    std::ifstream in(path_ / "log", std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void put(const std::string& content) const {
    std::ofstream(path_ / "log", std::ios::binary | std::ios::trunc) << content;
  }

  std::filesystem::path path_;
  base::UniqueFd directory_;
  std::vector<std::string> taken_;
};

TEST_F(RecordLogTest, keeps_records_in_order) {
  {
    const auto log = open().value();
    add(*log, {"one", "", "three"});
    add(*log, {"four"});
  }
  const auto log = open().value();
  EXPECT_THAT(taken_, ElementsAre("one", "", "three", "four"));
  EXPECT_EQ(log->cut_off(), 0U);
  add(*log, {"five"});
  EXPECT_EQ(log->bytes(), content().size());
  ASSERT_TRUE(open());
  EXPECT_THAT(taken_, ElementsAre("one", "", "three", "four", "five"));
}

TEST_F(RecordLogTest, a_batch_that_was_cut_short_is_gone_as_a_whole) {
  std::size_t before = 0;
  {
    const auto log = open().value();
    add(*log, {"kept"});
    before = log->bytes();
    add(*log, {"first of two", "second of two"});
  }
  const std::string whole = content();
  for (std::size_t length = before; length < whole.size(); ++length) {
    put(whole.substr(0, length));
    const auto log = open();
    ASSERT_TRUE(log) << length;
    EXPECT_THAT(taken_, ElementsAre("kept"));
    EXPECT_EQ((*log)->cut_off(), length - before);
    add(**log, {"later"});
    ASSERT_TRUE(open());
    EXPECT_THAT(taken_, ElementsAre("kept", "later"));
  }
}

// Blocks of the last batch may reach the medium in any order.
TEST_F(RecordLogTest, a_batch_with_holes_is_gone_as_a_whole) {
  std::size_t before = 0;
  {
    const auto log = open().value();
    add(*log, {"kept"});
    before = log->bytes();
    add(*log, {"lost"});
  }
  const std::string whole = content();
  for (std::size_t at = before; at < whole.size(); ++at) {
    std::string torn = whole;
    torn[at] = static_cast<char>(~torn[at]);
    put(torn);
    ASSERT_TRUE(open()) << at;
    EXPECT_THAT(taken_, ElementsAre("kept"));
  }
}

TEST_F(RecordLogTest, damage_before_the_end_is_told) {
  std::size_t end = 0;
  {
    const auto log = open().value();
    add(*log, {"one", "two"});
    end = log->bytes();
    add(*log, {"three"});
  }
  const std::string whole = content();
  for (std::size_t at = 0; at < end; ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 4);
    put(damaged);
    const auto log = open();
    ASSERT_FALSE(log) << at;
    EXPECT_EQ(log.error(), base::errno_of(EBADMSG));
    EXPECT_EQ(content(), damaged) << "it is left as it is";
  }
}

TEST_F(RecordLogTest, batches_that_lie_elsewhere_are_none) {
  {
    const auto log = open().value();
    add(*log, {"one"});
  }
  const std::string once = content();
  put(once + once.substr(16));
  ASSERT_TRUE(open());
  EXPECT_THAT(taken_, ElementsAre("one"));
}

TEST_F(RecordLogTest, is_rewritten_in_one_step) {
  {
    const auto log = open().value();
    add(*log, {"one", "two"});
    const std::vector<base::Bytes> kept{record_of("two")};
    ASSERT_TRUE(log->rewrite(kept));
    add(*log, {"three"});
  }
  std::ofstream(path_ / "log.new") << "left by a crash";
  ASSERT_TRUE(open());
  EXPECT_THAT(taken_, ElementsAre("two", "three"));
  EXPECT_FALSE(std::filesystem::exists(path_ / "log.new"));
}

TEST_F(RecordLogTest, what_is_too_long_changes_nothing) {
  const auto log = open().value();
  add(*log, {"one"});
  const std::vector<base::Bytes> long_one{base::Bytes(RecordLog::record_bytes_max + 1)};
  EXPECT_EQ(log->append(long_one).error(), base::errno_of(EMSGSIZE));
  const std::vector<base::Bytes> longest(RecordLog::batch_bytes_max / RecordLog::record_bytes_max,
                                         base::Bytes(RecordLog::record_bytes_max));
  EXPECT_EQ(log->append(longest).error(), base::errno_of(EMSGSIZE));
  EXPECT_FALSE(log->broken());
  ASSERT_TRUE(log->rewrite(longest));
  ASSERT_TRUE(open());
  EXPECT_EQ(taken_.size(), longest.size());
}

// A file size limit stands for a full disk.
TEST_F(RecordLogTest, a_write_that_fails_breaks_it_until_it_is_rewritten) {
  const auto log = open().value();
  add(*log, {"one"});
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{log->bytes() + 30, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  const std::vector<base::Bytes> more{record_of("more than fits there")};
  const auto failed = log->append(more);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  ::signal(SIGXFSZ, handler);
  EXPECT_FALSE(failed);
  EXPECT_TRUE(log->broken());
  EXPECT_EQ(log->append(more).error(), base::errno_of(EIO));
  const std::vector<base::Bytes> all{record_of("one"), record_of("two")};
  ASSERT_TRUE(log->rewrite(all));
  EXPECT_FALSE(log->broken());
  ASSERT_TRUE(log->append(more));
  ASSERT_TRUE(open());
  EXPECT_THAT(taken_, ElementsAre("one", "two", "more than fits there"));
}

TEST_F(RecordLogTest, another_file_is_no_log) {
  put("");
  EXPECT_EQ(open().error(), base::errno_of(EBADMSG));
  put("some other file of sixteen bytes and more");
  EXPECT_EQ(open().error(), base::errno_of(EBADMSG));
  EXPECT_THAT(taken_, IsEmpty());
}

}  // namespace
}  // namespace braid::pnfs
