// Weak cache consistency data (RFC 1813 2.6).
#include <thread>

#include "posix_fixture.h"

namespace braid::vfs {
namespace {

TEST(ChangeCounterTest, changes_one_after_the_other_are_alone) {
  posix::ChangeCounter counter;
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(counter.end(counter.begin()));
}

TEST(ChangeCounterTest, overlapping_changes_are_not_alone_whichever_began_or_ended_first) {
  posix::ChangeCounter counter;
  const auto a = counter.begin();
  const auto b = counter.begin();
  EXPECT_FALSE(counter.end(a));
  const auto c = counter.begin();
  EXPECT_FALSE(counter.end(b));
  EXPECT_FALSE(counter.end(c));
  const auto outer = counter.begin();
  EXPECT_FALSE(counter.end(counter.begin()));
  EXPECT_FALSE(counter.end(outer)) << "another change came and went meanwhile";
  EXPECT_TRUE(counter.end(counter.begin()));
}

class WccTest : public PosixTest {};
BRAID_ON_EVERY_FILE_SYSTEM(WccTest);

TEST_P(WccTest, a_change_reports_the_attributes_around_it) {
  const Attributes before = attributes(root_);
  ASSERT_TRUE(create("file"));
  ASSERT_TRUE(wcc_.before && wcc_.after);
  EXPECT_EQ(wcc_.before->ctime, before.ctime);
  EXPECT_EQ(wcc_.before->mtime, before.mtime);
  EXPECT_EQ(wcc_.before->size, before.size);
  EXPECT_EQ(wcc_.after->ctime, attributes(root_).ctime);
}

TEST_P(WccTest, a_write_reports_the_file) {
  const FileRef file = create("file")->file;
  ASSERT_TRUE(write(file, "text"));
  ASSERT_TRUE(wcc_.before && wcc_.after);
  EXPECT_EQ(wcc_.before->size, 0U);
  EXPECT_EQ(wcc_.after->size, 4U);
  EXPECT_EQ(wcc_.after->fileid, attributes(file).fileid);
}

TEST_P(WccTest, a_refused_change_reports_too) {
  wcc_ = {};
  EXPECT_FALSE(remove("missing"));
  ASSERT_TRUE(wcc_.before && wcc_.after);
  EXPECT_EQ(wcc_.before->ctime, wcc_.after->ctime);
  wcc_ = {};
  EXPECT_FALSE(create("file", 0644, user(1001, 1001)));
  EXPECT_TRUE(wcc_.after);
}

TEST_P(WccTest, changes_at_the_same_time_never_claim_each_other) {
  options_.tree.sync = false;
  restart();
  // Every ctime that a reply says was there before must be one that another reply left behind, or the first
  // one: a reply that covers two changes would make a client miss one.
  std::mutex mutex;
  std::set<Time> left{attributes(root_).ctime};
  std::vector<Time> claimed;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        for (int i = 0; i < 200; ++i) {
          Wcc wcc;
          const Credentials who;
          const SetAttributes set = with_mode(0755);
          (void)run(fs_->mkdir(who, root_, "d" + std::to_string(t) + "-" + std::to_string(i), set, wcc));
          std::scoped_lock lock(mutex);
          if (wcc.before) claimed.push_back(wcc.before->ctime);
          left.insert(wcc.after->ctime);
        }
      });
  }
  for (const Time& time : claimed) EXPECT_TRUE(left.contains(time));
}

}  // namespace
}  // namespace braid::vfs
