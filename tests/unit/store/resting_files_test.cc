// Which files are to be sealed, and when.
#include "store/content/resting_files.h"

#include <gtest/gtest.h>

#include <vector>

namespace braid::store::test {
namespace {

using std::chrono::seconds;

vfs::FileHandle named(std::uint8_t name) {
  vfs::FileHandle out;
  out.size = 1;
  out.bytes[0] = std::byte{name};
  return out;
}
std::vector<vfs::FileHandle> names_of(const std::vector<RestingFiles::Taken>& taken) {
  std::vector<vfs::FileHandle> out;
  for (const RestingFiles::Taken& one : taken) out.push_back(one.file);
  return out;
}
base::TimePoint at(int second) { return base::TimePoint(std::chrono::hours(1) + seconds(second)); }

TEST(RestingFiles, files_come_when_they_have_waited) {
  RestingFiles files(seconds(30));
  files.note(named(1), at(0));
  files.note(named(2), at(10));
  files.note(named(1), at(20));
  EXPECT_TRUE(files.take(at(29), 10).empty());
  EXPECT_EQ(names_of(files.take(at(30), 10)), std::vector{named(1)}) << "the first change counts";
  EXPECT_TRUE(files.take(at(39), 10).empty());
  EXPECT_EQ(names_of(files.take(at(100), 10)), std::vector{named(2)});
  EXPECT_EQ(files.counts().waiting, 0U);
}

TEST(RestingFiles, no_more_than_wanted_come_at_once) {
  RestingFiles files(seconds(0));
  for (std::uint8_t i = 0; i < 5; ++i) files.note(named(i), at(i));
  EXPECT_EQ(files.take(at(9), 3).size(), 3U);
  EXPECT_EQ(files.take(at(9), 3).size(), 2U);
}

TEST(RestingFiles, what_cannot_be_sealed_waits_twice_as_long_each_time) {
  RestingFiles files(seconds(30));
  int now = 0;
  for (const int wait : {30, 60, 120, 240, 480, 960, 1920, 3600, 3600}) {
    files.again({named(1), at(0)}, at(now));
    EXPECT_TRUE(files.take(at(now + wait - 1), 1).empty()) << wait;
    EXPECT_EQ(files.take(at(now + wait), 1).size(), 1U) << wait;
    now += wait;
  }
  files.done(named(1));
  files.again({named(1), at(0)}, at(0));
  EXPECT_EQ(files.take(at(30), 1).size(), 1U);
  RestingFiles at_once(seconds(0));
  at_once.again({named(1), at(0)}, at(0));
  EXPECT_TRUE(at_once.take(at(0), 1).empty()) << "not without end";
  EXPECT_EQ(at_once.take(at(1), 1).size(), 1U);
}

TEST(RestingFiles, how_long_a_file_has_waited_is_known_until_it_is_done) {
  RestingFiles files(seconds(30));
  files.note(named(1), at(10));
  RestingFiles::Taken taken = files.take(at(40), 1).at(0);
  EXPECT_EQ(taken.since, at(10));
  EXPECT_FALSE(files.is_due(taken, at(40), seconds(10)));
  files.note(named(1), at(50));
  EXPECT_TRUE(files.take(at(59), 1).empty());
  taken = files.take(at(60), 1).at(0);
  EXPECT_EQ(taken.since, at(10));
  files.again(taken, at(60));
  taken = files.take(at(90), 1).at(0);
  EXPECT_EQ(taken.since, at(10));
  files.done(named(1));
  files.note(named(1), at(100));
  EXPECT_EQ(files.take(at(130), 1).at(0).since, at(100));
}

TEST(RestingFiles, one_that_is_never_left_alone_is_looked_at_all_the_same) {
  RestingFiles files(seconds(30));
  files.note(named(1), at(0));
  int now = 30, looks = 0;
  for (RestingFiles::Taken taken = files.take(at(now), 1).at(0); !files.is_due(taken, at(now), seconds(1));
       ++looks) {
    for (++now; now < 1000; ++now)
      if (const auto next = files.take(at(now), 1); !next.empty()) {
        taken = next[0];
        break;
      }
  }
  EXPECT_EQ(now, 120) << "four times as long as one that is";
  EXPECT_EQ(looks, 4);
  EXPECT_EQ(files.counts().waiting, 0U);
}

TEST(RestingFiles, there_is_an_end_to_what_is_remembered) {
  RestingFiles files(seconds(30), 2);
  for (std::uint8_t i = 0; i < 4; ++i) files.note(named(i), at(0));
  files.note(named(0), at(0));
  EXPECT_EQ(files.counts().waiting, 2U);
  EXPECT_EQ(files.counts().forgotten, 2U);
  EXPECT_FALSE(files.is_due({named(1), at(0)}, at(0), seconds(25)));
  EXPECT_EQ(names_of(files.take(at(5), 10)), std::vector{named(1)});
}

}  // namespace
}  // namespace braid::store::test
