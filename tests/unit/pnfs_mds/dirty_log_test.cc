// Of which files servers are asked, in this run and after it.
#include "pnfs_mds/dirty_log.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "tests/unit/pnfs_mds/scratch.h"

namespace braid::pnfs_mds::test {
namespace {

vfs::FileHandle handle(std::uint8_t number) {
  vfs::FileHandle out;
  out.size = 1;
  out.bytes[0] = std::byte{number};
  return out;
}

class DirtyLogTest : public ScratchTest {
 protected:
  static constexpr pnfs::ObjectId one{1}, two{2};

  DirtyLogTest() { open(); }
  void open() {
    log_.reset();
    log_ = DirtyLog::open(directory_.get()).value();
  }
  // As Settler does.
  void clean(pnfs::ObjectId object) {
    std::vector<DirtyLog::Known> files = log_->look(pnfs::ObjectId(object.value() - 1), 1);
    for (DirtyLog::Known& file : files) file.settled = true;
    EXPECT_TRUE(now(log_->clean(files)));
  }
  void settle(pnfs::ObjectId object) { log_->settled(object, log_->version_of(object)); }
  [[nodiscard]] bool dirty(pnfs::ObjectId object) const { return log_->version_of(object) != 0; }

  std::unique_ptr<DirtyLog> log_;
};

TEST_F(DirtyLogTest, what_was_kept_is_unsettled_after_a_restart_until_it_is_clean) {
  log_->written(one, handle(7));
  log_->written(two, handle(8));
  EXPECT_TRUE(now(log_->keep(one)));
  EXPECT_TRUE(log_->unsettled(two));
  open();
  EXPECT_TRUE(log_->unsettled(one));
  EXPECT_FALSE(dirty(two)) << "nobody relied on it";
  EXPECT_EQ(log_->look(pnfs::ObjectId(0), 9).front().file, handle(7));
  settle(one);
  EXPECT_FALSE(log_->unsettled(one));
  open();
  EXPECT_TRUE(log_->unsettled(one)) << "its stub may not be on the medium";
  settle(one);
  clean(one);
  EXPECT_FALSE(dirty(one));
  open();
  EXPECT_FALSE(dirty(one));
}

TEST_F(DirtyLogTest, what_is_dirty_on_the_medium_costs_no_sync) {
  log_->written(one, handle(7));
  EXPECT_TRUE(now(log_->keep(one)));
  const auto size = std::filesystem::file_size(path_ / "dirty");
  for (int i = 0; i < 10; ++i) {
    settle(one);
    log_->written(one, handle(7));
    EXPECT_TRUE(now(log_->keep(one)));
  }
  EXPECT_EQ(std::filesystem::file_size(path_ / "dirty"), size);
}

TEST_F(DirtyLogTest, what_is_said_after_somebody_looked_ends_nothing) {
  log_->written(one, handle(7));
  EXPECT_TRUE(now(log_->keep(one)));
  const RecordVersion version = log_->version_of(one);
  log_->written(one, {});
  log_->settled(one, version);
  EXPECT_TRUE(log_->unsettled(one));
  settle(one);
  std::vector<DirtyLog::Known> files = log_->look(pnfs::ObjectId(0), 9);
  EXPECT_EQ(files.front().file, handle(7)) << "whoever does not know whose it is takes nothing away";
  files.front().settled = true;
  log_->written(one, {});
  EXPECT_TRUE(now(log_->clean(files)));
  EXPECT_TRUE(log_->unsettled(one));
  open();
  EXPECT_TRUE(log_->unsettled(one));
}

TEST_F(DirtyLogTest, a_stub_that_is_not_on_the_medium_is_kept_without_asking_anybody) {
  log_->put(one, handle(7));
  EXPECT_FALSE(log_->unsettled(one));
  EXPECT_TRUE(now(log_->keep(one)));
  EXPECT_FALSE(log_->unsettled(one));
  log_->written(one, handle(7));
  log_->put(one, handle(7));
  EXPECT_TRUE(log_->unsettled(one)) << "it was before";
  open();
  EXPECT_TRUE(log_->unsettled(one));
}

// A file that was clean meanwhile has to be kept again, whatever was being written of it.
TEST_F(DirtyLogTest, a_file_that_is_dirty_again_is_kept_again) {
  log_->written(one, handle(7));
  EXPECT_TRUE(now(log_->keep(one)));
  settle(one);
  clean(one);
  log_->written(one, handle(7));
  open();
  EXPECT_FALSE(dirty(one));
  log_->written(one, handle(7));
  EXPECT_TRUE(now(log_->keep(one)));
  open();
  EXPECT_TRUE(dirty(one));
}

TEST_F(DirtyLogTest, a_file_that_is_gone_is_not_looked_for_again) {
  log_->written(one, handle(7));
  EXPECT_TRUE(now(log_->keep(one)));
  log_->forget(one);
  EXPECT_FALSE(dirty(one));
  EXPECT_EQ(log_->size(), 1U);
  EXPECT_TRUE(now(log_->clean({})));
  EXPECT_EQ(log_->size(), 0U);
  open();
  EXPECT_FALSE(dirty(one));
}

TEST_F(DirtyLogTest, a_log_of_many_files_stays_short) {
  std::uintmax_t longest = 0;
  for (std::uint64_t number = 1; number <= 4000; ++number) {
    const pnfs::ObjectId object(number);
    log_->written(object, handle(7));
    EXPECT_TRUE(now(log_->keep(object)));
    settle(object);
    if (number % 200 != 0) clean(object);
    longest = std::max(longest, std::filesystem::file_size(path_ / "dirty"));
  }
  EXPECT_GT(longest, Journal::small_bytes) << "nothing had to be made short";
  EXPECT_LT(longest, 2 * Journal::small_bytes);
  open();
  EXPECT_EQ(log_->size(), 20U);
  EXPECT_TRUE(log_->unsettled(pnfs::ObjectId(600)));
}

TEST_F(DirtyLogTest, records_are_read_back_and_nothing_else_is) {
  const std::vector<DirtyRecord> dirty{DirtyObject{5, one, handle(3)}, DirtyObject{6, two, {}},
                                       CleanObject{7, one}};
  for (const DirtyRecord& record : dirty) {
    base::Bytes bytes = encode(record);
    EXPECT_EQ(decode_dirty(bytes), record);
    bytes.push_back({});
    EXPECT_FALSE(decode_dirty(bytes));
    bytes.resize(bytes.size() - 2);
    EXPECT_FALSE(decode_dirty(bytes));
  }
  TruncationRecord truncation{.version = 5,
                              .object = one,
                              .epoch = pnfs::Epoch(3),
                              .number = 77,
                              .size = 1000,
                              .answered = false,
                              .file = handle(3),
                              .left = {{0, pnfs::ServerNumber(4), 500}, {1, pnfs::ServerNumber(5), 0}}};
  EXPECT_EQ(decode_truncation(encode(TruncationLogRecord(truncation))), TruncationLogRecord(truncation));
  truncation.answered = true;
  EXPECT_EQ(decode_truncation(encode(TruncationLogRecord(truncation))), TruncationLogRecord(truncation));
  truncation.left[1].index = 56;
  EXPECT_FALSE(decode_truncation(encode(TruncationLogRecord(truncation))));
  const TruncationLogRecord done = TruncationDone{9, two};
  EXPECT_EQ(decode_truncation(encode(done)), done);
}

}  // namespace
}  // namespace braid::pnfs_mds::test
