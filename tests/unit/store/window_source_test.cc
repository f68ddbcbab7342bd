// Streams that are sealed while they are written.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <limits>
#include <random>
#include <thread>
#include <utility>

#include "tests/unit/store/syncs.h"
#include "tests/unit/store/window_fixture.h"

namespace braid::store::test {
namespace {

BRAID_ON_EVERY_FILE_SYSTEM(WindowSourceTest);

TEST_P(WindowSourceTest, a_stream_is_seen_before_it_is_anywhere_but_in_memory) {
  make("f");
  const vfs::Attributes before = attributes(find("f"));
  const auto first = write(find("f"), noise_.substr(0, stream_piece_bytes));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->committed, vfs::Stability::unstable);
  EXPECT_EQ(first->verifier, verifier());
  stream("f", noise_.substr(0, 3'000'001), 0, false);
  EXPECT_EQ(counts().taken_bytes, 3'000'001U + stream_piece_bytes);
  EXPECT_EQ(counts().windows, 1U);
  EXPECT_GT(counts().held_bytes, 1'500'000U);
  EXPECT_EQ(blocks_of("f"), 0U);
  EXPECT_TRUE(all_of("f") == noise_.substr(0, 3'000'001));
  const vfs::Attributes now = attributes(find("f"));
  EXPECT_EQ(now.size, 3'000'001U);
  EXPECT_GE(now.space, 3'000'001U);
  EXPECT_GT(now.mtime, before.mtime);
  EXPECT_NE(now.change, before.change);
  ASSERT_TRUE(write(find("f"), noise_.substr(0, 100), 5000));
  EXPECT_NE(attributes(find("f")).change, now.change) << "the size is the same";
  expect_holes_are_zeros("f", all_of("f"));
}

TEST_P(WindowSourceTest, what_is_committed_is_in_the_store_and_nowhere_else) {
  make("f");
  stream("f", noise_);
  EXPECT_LT(counts().held_bytes, noise_.size()) << "some of it is cut already";
  ASSERT_TRUE(commit(find("f")));
  EXPECT_EQ(counts().sealed_bytes, noise_.size());
  EXPECT_EQ(counts().spilled_bytes, 0U);
  EXPECT_EQ(counts().held_bytes, 0U);
  EXPECT_EQ(blocks_of("f"), 0U);
  EXPECT_TRUE(has_record("f"));
  EXPECT_TRUE(all_of("f") == noise_);
  start_anew();
  EXPECT_TRUE(all_of("f") == noise_);
  EXPECT_EQ(attributes(find("f")).size, noise_.size());
  const ChunkCounts chunks = store_->chunks().counts();
  make("again");
  stream("again", noise_);
  ASSERT_TRUE(commit(find("again")));
  EXPECT_GE(store_->chunks().counts().bytes_found - chunks.bytes_found, noise_.size());
  EXPECT_TRUE(all_of("again") == noise_);
}

// Of a short stream some is done when it is committed; of a long one nothing waits for it.
TEST_P(WindowSourceTest, the_first_bytes_are_cut_before_anybody_commits_them) {
  make("f");
  for (const std::uint64_t at : {std::uint64_t{0}, 2 * base::MiB}) {
    stream("f", noise_.substr(at, base::MiB - stream_piece_bytes), at);
    EXPECT_EQ(counts().held_bytes, base::MiB - stream_piece_bytes);
    stream("f", noise_.substr(at + base::MiB - stream_piece_bytes, stream_piece_bytes),
           at + base::MiB - stream_piece_bytes);
    const std::uint64_t left = counts().held_bytes;
    EXPECT_LT(left, 256 * base::KiB) << "what may belong to a chunk that is not all there";
    stream("f", noise_.substr(at + base::MiB, base::MiB), at + base::MiB);
    EXPECT_GE(counts().held_bytes, left + base::MiB);
    ASSERT_TRUE(commit(find("f")));
    EXPECT_EQ(counts().held_bytes, 0U);
  }
  EXPECT_EQ(counts().spilled_bytes, 0U);
  EXPECT_TRUE(all_of("f") == noise_.substr(0, 4 * base::MiB));
}

// On threads of their own.
class PooledWindowTest : public WindowSourceTest {
 protected:
  PooledWindowTest() {
    before_opened_ = [this, before = before_opened_] {
      before();
      source_->use(pool_, "store");
    };
  }
  io::BlockingPool pool_{{}};
};
BRAID_ON_EVERY_FILE_SYSTEM(PooledWindowTest);

TEST_P(PooledWindowTest, the_first_bytes_are_cut_beside_what_comes_next) {
  for (int i = 0; i < 8; ++i) {
    const std::string name = fmt::format("f{}", i),
                      bytes = noise_.substr(static_cast<std::size_t>(i) * 1000, 2 * base::MiB);
    make(name);
    stream(name, bytes);
    if (i % 2 == 0) {
      ASSERT_TRUE(commit(find(name)));
    }
    EXPECT_TRUE(all_of(name) == bytes);
  }
  const auto posted = [&] { return pool_.stats().jobs[static_cast<std::size_t>(io::BlockingReason::write)]; };
  EXPECT_EQ(posted(), 8U);
  start_anew();
  EXPECT_EQ(counts().spilled_bytes, 0U);
  EXPECT_EQ(counts().sealed_bytes, 16 * base::MiB);
  for (int i = 0; i < 8; ++i)
    EXPECT_TRUE(all_of(fmt::format("f{}", i)) ==
                noise_.substr(static_cast<std::size_t>(i) * 1000, 2 * base::MiB));
}

TEST_P(WindowSourceTest, what_another_has_sealed_and_not_synced_a_commit_syncs) {
  if (in_memory()) GTEST_SKIP() << "nothing is synced there";
  make("f");
  const ino_t inode = attributes(find("f")).fileid;
  stream("f", noise_.substr(0, 2'000'000));
  fail_next_sync_of(inode);
  EXPECT_FALSE(commit(find("f")));
  EXPECT_FALSE(source_->windows()->counts().windows > 0);
  const int before = syncs_of(inode);
  ASSERT_TRUE(commit(find("f")));
  EXPECT_EQ(syncs_of(inode), before + 1);
  ASSERT_TRUE(commit(find("f")));
  EXPECT_EQ(syncs_of(inode), before + 1);
  EXPECT_TRUE(all_of("f") == noise_.substr(0, 2'000'000));
}

TEST_P(WindowSourceTest, one_sync_is_enough_for_record_and_bytes) {
  if (in_memory()) GTEST_SKIP() << "nothing is synced there";
  make("f");
  const ino_t inode = attributes(find("f")).fileid;
  stream("f", noise_.substr(0, 2'000'000));
  int before = syncs_of(inode);
  ASSERT_TRUE(commit(find("f")));
  EXPECT_EQ(syncs_of(inode), ++before);
  ASSERT_TRUE(write(find("f"), noise_.substr(0, 100), 5000)) << "its block is taken out of the recipe";
  ASSERT_TRUE(commit(find("f")));
  EXPECT_EQ(syncs_of(inode), ++before);
}

TEST_P(WindowSourceTest, clients_do_not_notice_what_a_commit_does_to_the_inode) {
  make("f");
  stream("f", noise_.substr(0, 3'000'000));
  const vfs::Attributes written = attributes(find("f"));
  // The one counts as a change that looks before and after, the other does not.
  vfs::Wcc wcc;
  ASSERT_TRUE(commit(find("f"), {}, &wcc));
  EXPECT_GT(counts().sealed_bytes, 0U);
  ASSERT_TRUE(wcc.before && wcc.after);
  EXPECT_EQ(wcc.before->change, written.change);
  expect_same(*wcc.after, written);
  expect_same(attributes(find("f")), written);
  start_anew();
  expect_same(attributes(find("f")), written);
  // What is written then is seen, and what that COMMIT does is not.
  stream("f", noise_.substr(3'000'000), 3'000'000);
  const vfs::Attributes more = attributes(find("f"));
  EXPECT_GT(more.change, written.change);
  ASSERT_TRUE(vfs::run(file("f")->commit({}, 0, 0, nullptr)));
  EXPECT_GT(counts().spilled_bytes, 0U) << "it begins within a block";
  expect_same(attributes(find("f")), more);
  start_anew();
  expect_same(attributes(find("f")), more);
  EXPECT_TRUE(all_of("f") == noise_);
  ASSERT_TRUE(setattr(find("f"), vfs::with_mode(0600)));
  EXPECT_GT(attributes(find("f")).change, more.change);
}

TEST_P(WindowSourceTest, what_others_change_before_a_commit_has_ended_is_seen) {
  make("f");
  stream("f", noise_.substr(0, 2'000'000));
  const vfs::Attributes written = attributes(find("f"));
  // Until it has another ctime: the kernel's clock has ticks.
  while_hashed_ = [this] {
    const vfs::Attributes before = attributes(find("f"));
    while (attributes(find("f")).ctime == before.ctime) EXPECT_EQ(::chmod(local("f").c_str(), 0600), 0);
  };
  ASSERT_TRUE(commit(find("f")));
  EXPECT_EQ(while_hashed_, nullptr);
  EXPECT_GT(attributes(find("f")).change, written.change);
  EXPECT_TRUE(all_of("f") == noise_.substr(0, 2'000'000));
}

// Nobody's content is told what becomes of the window: it shows once.
TEST_P(WindowSourceTest, what_is_closed_without_a_commit_has_its_bytes_and_mtime) {
  make("f");
  stream("f", noise_.substr(0, 2'000'000));
  const vfs::Attributes written = attributes(find("f"));
  close_windows();
  EXPECT_EQ(counts().windows, 0U);
  const vfs::Attributes closed = attributes(find("f"));
  EXPECT_TRUE(closed.mtime == written.mtime);
  EXPECT_GE(closed.change, written.change);
  start_anew();
  EXPECT_EQ(attributes(find("f")).change, closed.change) << "it never goes back";
}

TEST_P(WindowSourceTest, a_short_run_hides_no_longer_one_behind_it) {
  make("f");
  stream("f", noise_.substr(0, stream_piece_bytes));
  stream("f", noise_, 2 * base::MiB);
  EXPECT_LT(counts().held_bytes, 5 * base::MiB) << "some of it is cut already";
  EXPECT_TRUE(all_of("f") == noise_.substr(0, stream_piece_bytes) +
                                 std::string(2 * base::MiB - stream_piece_bytes, '\0') + noise_);
}

// XFS has such space behind the end of a file that grows.
TEST_P(WindowSourceTest, space_without_bytes_below_a_stream_does_not_come_to_light) {
  make("f");
  {
    const base::UniqueFd fd(::open(local("f").c_str(), O_RDWR | O_CLOEXEC));
    if (::fallocate(fd.get(), FALLOC_FL_KEEP_SIZE, 0, 5'000'000) != 0) GTEST_SKIP() << "no fallocate(2) here";
  }
  stream("f", noise_.substr(0, 3'000'001));
  ASSERT_TRUE(commit(find("f")));
  EXPECT_GT(counts().sealed_bytes, 2'900'000U);
  EXPECT_EQ(local_read("f"), std::string(3'000'001, '\0'));
  EXPECT_TRUE(all_of("f") == noise_.substr(0, 3'000'001));
  start_anew();
  EXPECT_TRUE(all_of("f") == noise_.substr(0, 3'000'001));
}

TEST_P(WindowSourceTest, a_stream_goes_on_after_a_commit) {
  make("f");
  stream("f", noise_.substr(0, 2'500'001));
  ASSERT_TRUE(commit(find("f")));
  stream("f", noise_.substr(2'500'001), 2'500'001);
  EXPECT_TRUE(all_of("f") == noise_);
  ASSERT_TRUE(commit(find("f")));
  EXPECT_LT(counts().spilled_bytes, 64 * base::KiB) << "but for the block in which both are";
  start_anew();
  EXPECT_TRUE(all_of("f") == noise_);
}

TEST_P(WindowSourceTest, what_comes_while_others_are_committed_may_wait_for_the_next_commit) {
  make("f");
  stream("f", noise_.substr(0, 3 * base::MiB));
  while_hashed_ = [this] { stream("f", noise_.substr(3 * base::MiB, 500'000), 3 * base::MiB); };
  EXPECT_TRUE(commit(find("f")));
  EXPECT_FALSE(while_hashed_);
  EXPECT_EQ(counts().sealed_bytes, 3 * base::MiB);
  EXPECT_EQ(counts().spilled_bytes, 0U);
  EXPECT_EQ(counts().windows, 1U);
  EXPECT_TRUE(all_of("f") == noise_.substr(0, 3 * base::MiB + 500'000));
  kill_and_start_anew();
  EXPECT_TRUE(all_of("f") == noise_.substr(0, 3 * base::MiB) + std::string(500'000, '\0'));
}

TEST_P(WindowSourceTest, what_comes_over_bytes_that_are_committed_is_kept_in_their_place) {
  make("f");
  stream("f", noise_.substr(0, 3'000'000));
  while_hashed_ = [this] { stream("f", noise_.substr(5'000'000, 500'000), 1'000'000); };
  EXPECT_TRUE(commit(find("f")));
  EXPECT_FALSE(while_hashed_);
  EXPECT_EQ(counts().windows, 0U);
  kill_and_start_anew();
  EXPECT_TRUE(all_of("f") == noise_.substr(0, 1'000'000) + noise_.substr(5'000'000, 500'000) +
                                 noise_.substr(1'500'000, 1'500'000));
}

// The first bytes are not cut sooner than others: what is hashed first is what the last write has completed.
class LongRunsTest : public WindowSourceTest {
 protected:
  LongRunsTest() { first_run_bytes_ = std::numeric_limits<std::uint64_t>::max(); }
};
BRAID_ON_EVERY_FILE_SYSTEM(LongRunsTest);

TEST_P(LongRunsTest, who_writes_faster_than_is_hashed_waits) {
  make("f");
  const std::string more = noise_ + noise_;
  std::atomic<std::size_t> written = 0;
  std::thread writer;
  const auto write_more = [&] {
    for (std::uint64_t at = 0; at < more.size(); at += stream_piece_bytes, ++written)
      ASSERT_TRUE(write_to(find("f"), 4 * base::MiB + at, payload(more.substr(at, stream_piece_bytes)),
                           vfs::Stability::unstable));
  };
  std::size_t written_meanwhile = 0;
  while_hashed_ = [&] {
    writer = std::thread(write_more);
    // Until it has written all, or stands still.
    for (int still = 0; still < 200 && written * stream_piece_bytes < more.size(); ++still) {
      const std::size_t before = written;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (written != before) still = 0;
    }
    written_meanwhile = written;
  };
  stream("f", noise_.substr(0, 4 * base::MiB));
  writer.join();
  EXPECT_LT(written_meanwhile * stream_piece_bytes, more.size());
  EXPECT_EQ(written * stream_piece_bytes, more.size());
  EXPECT_TRUE(all_of("f") == noise_.substr(0, 4 * base::MiB) + more);
}

TEST_P(WindowSourceTest, little_that_is_committed_goes_to_the_file_and_its_times_stay) {
  make("f");
  stream("f", noise_.substr(0, 500'000));
  vfs::SetAttributes set;
  set.mtime = vfs::SetTime{.how = vfs::SetTime::How::client, .value = {.seconds = 1000, .nanoseconds = 5}};
  ASSERT_TRUE(setattr(find("f"), set));
  ASSERT_TRUE(commit(find("f")));
  EXPECT_TRUE(local_read("f") == noise_.substr(0, 500'000));
  EXPECT_FALSE(has_record("f"));
  EXPECT_EQ(counts().spilled_bytes, 500'000U);
  EXPECT_EQ(attributes(find("f")).mtime.seconds, 1000);
  EXPECT_EQ(attributes(find("f")).mtime.nanoseconds, 5U);
}

TEST_P(WindowSourceTest, small_writes_and_what_may_not_be_sealed_have_no_window) {
  make("f");
  ASSERT_TRUE(write(find("f"), "small", 0));
  EXPECT_EQ(local_read("f"), "small");
  tree_.reset();
  make("g");
  stream("g", noise_.substr(0, 2'000'000));
  EXPECT_TRUE(local_read("g") == noise_.substr(0, 2'000'000));
  EXPECT_EQ(counts().taken_bytes, 0U);
}

TEST_P(WindowSourceTest, a_stable_write_is_newer_than_the_window) {
  make("f");
  stream("f", noise_.substr(0, 3'000'000));
  std::string wanted = noise_.substr(0, 3'000'000);
  const std::string text(10'000, 's');
  ASSERT_TRUE(write(find("f"), text, 1'000'005, {}, vfs::Stability::file_sync));
  wanted.replace(1'000'005, text.size(), text);
  EXPECT_TRUE(all_of("f") == wanted);
  ASSERT_TRUE(commit(find("f")));
  EXPECT_TRUE(all_of("f") == wanted);
  EXPECT_GT(counts().sealed_bytes, 2'900'000U) << "the rest is not concerned";
  start_anew();
  EXPECT_TRUE(all_of("f") == wanted);
}

TEST_P(WindowSourceTest, what_is_cut_off_and_punched_is_gone_from_the_window) {
  make("f");
  stream("f", noise_.substr(0, 3'000'000));
  std::string wanted = noise_.substr(0, 3'000'000);
  ASSERT_TRUE(resize("f", 2'500'003));
  ASSERT_TRUE(resize("f", 2'800'000));
  wanted.resize(2'500'003);
  wanted.resize(2'800'000);
  ASSERT_TRUE(vfs::run(file("f")->deallocate({}, 100'001, 50'000)));
  wanted.replace(100'001, 50'000, 50'000, '\0');
  EXPECT_TRUE(all_of("f") == wanted);
  expect_holes_are_zeros("f", wanted);
  ASSERT_TRUE(commit(find("f")));
  EXPECT_TRUE(all_of("f") == wanted);
  start_anew();
  EXPECT_TRUE(all_of("f") == wanted);
}

// Nobody was told that it is on the medium, and the verifier tells that it is not.
TEST_P(WindowSourceTest, a_killed_server_loses_the_window_and_nothing_else) {
  make("f");
  stream("f", noise_.substr(0, 2'000'000));
  ASSERT_TRUE(commit(find("f")));
  stream("f", noise_.substr(2'000'000, 2'000'000), 2'000'000);
  const vfs::Verifier before = verifier();
  kill_and_start_anew();
  EXPECT_NE(verifier(), before);
  EXPECT_TRUE(all_of("f").substr(0, 2'000'000) == noise_.substr(0, 2'000'000));
  EXPECT_TRUE(all_of("f").substr(2'000'000).find_first_not_of('\0') == std::string::npos);
}

TEST_P(WindowSourceTest, what_nobody_goes_on_with_leaves_memory) {
  make("f");
  stream("f", noise_.substr(0, 2'000'000));
  make("small");
  stream("small", noise_.substr(0, 300'000));
  fs_->tree().cache().shrink(1000);
  EXPECT_TRUE(all_of("f") == noise_.substr(0, 2'000'000)) << "it is kept in the cache";
  EXPECT_EQ(counts().windows, 2U);
  close_windows();
  EXPECT_EQ(counts().windows, 0U);
  EXPECT_EQ(counts().held_bytes, 0U);
  EXPECT_TRUE(has_record("f"));
  EXPECT_TRUE(local_read("small") == noise_.substr(0, 300'000));
  fs_->tree().cache().shrink(1000);
  EXPECT_TRUE(all_of("f") == noise_.substr(0, 2'000'000));
  EXPECT_TRUE(all_of("small") == noise_.substr(0, 300'000));
  stream("f", noise_.substr(2'000'000, 500'000), 2'000'000);
  EXPECT_EQ(counts().windows, 1U);
  source_->end_windows();
  EXPECT_EQ(counts().windows, 0U);
  EXPECT_TRUE(all_of("f") == noise_.substr(0, 2'500'000));
  make("late");
  stream("late", noise_.substr(0, 300'000));
  EXPECT_TRUE(local_read("late") == noise_.substr(0, 300'000));
}

TEST_P(WindowSourceTest, a_file_with_a_window_is_in_use) {
  make("f");
  stream("f", noise_.substr(0, 2'000'000));
  LiveSealer sealer(*store_, *source_, [] { return false; });
  fs_->tree().cache().shrink(1000);
  const auto sealed = vfs::run(sealer.seal(*fs_, 1, find("f"), false));
  ASSERT_TRUE(sealed);
  EXPECT_EQ(*sealed, SealOutcome::in_use);
  EXPECT_TRUE(all_of("f") == noise_.substr(0, 2'000'000));
}

// All operations, against a string.
TEST_P(WindowSourceTest, it_is_like_a_plain_file) {
  for (const std::uint32_t seed : {1U, 2U, 3U}) {
    std::mt19937 random(seed);
    const auto below = [&](std::uint64_t end) { return random() % end; };
    std::string wanted;
    make("f");
    for (int step = 0; step < 90; ++step) {
      SCOPED_TRACE(fmt::format("seed {} step {}", seed, step));
      const std::uint64_t at = below(std::min<std::uint64_t>(wanted.size(), 3 * base::MiB) + 20'000);
      const std::uint64_t length = 1 + below(below(3) == 0 ? 900'000 : 90'000);
      switch (below(12)) {
        case 0:
          ASSERT_TRUE(resize("f", at));
          wanted.resize(at);
          break;
        case 1: {
          ASSERT_TRUE(vfs::run(file("f")->deallocate({}, at, length)));
          const std::uint64_t end = std::min<std::uint64_t>(at + length, wanted.size());
          if (at < end) wanted.replace(at, end - at, end - at, '\0');
          break;
        }
        case 2:
          ASSERT_TRUE(vfs::run(file("f")->allocate({}, at, length)));
          wanted.resize(std::max<std::size_t>(wanted.size(), at + length));
          break;
        case 3:
          ASSERT_TRUE(commit(find("f")));
          break;
        case 4:
          close_windows();
          again(below(6));
          break;
        case 5:
          EXPECT_EQ(collect().alarm, "");
          break;
        default: {
          const std::string text =
              below(8) == 0 ? std::string(length, '\0') : noise_.substr(below(5'000'000), length);
          const auto stability = below(5) == 0 ? vfs::Stability::file_sync : vfs::Stability::unstable;
          const auto written = write(find("f"), text, at, {}, stability);
          ASSERT_TRUE(written);
          ASSERT_EQ(written->count, text.size());
          wanted.resize(std::max<std::size_t>(wanted.size(), at + text.size()));
          wanted.replace(at, text.size(), text);
        }
      }
      ASSERT_EQ(attributes(find("f")).size, wanted.size());
      ASSERT_TRUE(all_of("f") == wanted);
      expect_holes_are_zeros("f", wanted);
    }
    close_windows();
    ASSERT_TRUE(remove("f"));
  }
  EXPECT_GT(counts().sealed_bytes, 0U);
  EXPECT_GT(counts().spilled_bytes, 0U);
  EXPECT_EQ(counts().lost_bytes, 0U);
  EXPECT_EQ(counts().held_bytes, 0U);
}

class WindowBeforeIndexTest : public WindowSourceTest {
 protected:
  WindowBeforeIndexTest() { store_options_.index_later = true; }
};

TEST_P(WindowBeforeIndexTest, there_is_none_before_the_index_is_filled) {
  make("early");
  stream("early", noise_);
  EXPECT_EQ(counts().taken_bytes, 0U);
  EXPECT_TRUE(all_of("early") == noise_);
  while (store_->chunks().index_filler().step() == IndexFiller::Step::more) {
  }
  make("late");
  stream("late", noise_);
  EXPECT_EQ(counts().taken_bytes, noise_.size());
  EXPECT_TRUE(all_of("late") == noise_);
}
BRAID_ON_EVERY_FILE_SYSTEM(WindowBeforeIndexTest);

}  // namespace
}  // namespace braid::store::test
