// What the kernel says of watched files when it says more, or less, than usual.
#include "vfs/posix/change_watch.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

namespace braid::vfs::posix {
namespace {

class ChangeWatchTest : public testing::Test {
 protected:
  ChangeWatchTest() {
    std::string pattern = testing::TempDir() + "/braid-watch-XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
  }
  ~ChangeWatchTest() override { std::filesystem::remove_all(directory_); }

  [[nodiscard]] base::UniqueFd file(const std::string& name) const {
    return base::UniqueFd(::open(path(name).c_str(), O_RDONLY | O_CREAT | O_CLOEXEC, 0600));
  }
  [[nodiscard]] std::string path(const std::string& name) const { return directory_ + "/" + name; }
  static std::shared_ptr<LeaseNotice> notice(int& told) {
    return std::make_shared<LeaseNotice>(LeaseHolder(1), [&told] { ++told; });
  }
  // Signals go to a thread that has them blocked.
  template <class F>
  static void on_thread(F f) {
    std::thread([&] {
      sigset_t signals;
      ::sigemptyset(&signals);
      ::sigaddset(&signals, SIGRTMIN);
      ::sigaddset(&signals, SIGIO);
      ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
      ChangeWatch watch;
      watch.signal_to(::gettid(), SIGRTMIN);
      f(watch);
    }).join();
  }

  std::string directory_;
};

TEST_F(ChangeWatchTest, each_is_told_once_and_of_its_own_file) {
  on_thread([&](ChangeWatch& watch) {
    int first = 0, second = 0;
    const auto one = file("one"), two = file("two");
    ASSERT_TRUE(watch.add(one.get(), LeaseType::read, notice(first)));
    ASSERT_TRUE(watch.add(two.get(), LeaseType::read, notice(second)));
    for (const mode_t mode : {0640U, 0600U, 0640U}) {
      ASSERT_EQ(::fchmod(one.get(), mode), 0);
      watch.read();
    }
    EXPECT_EQ(first, 1);
    EXPECT_EQ(second, 0);
  });
}

TEST_F(ChangeWatchTest, who_is_removed_is_not_told) {
  on_thread([&](ChangeWatch& watch) {
    int gone = 0, here = 0;
    const auto one = file("one");
    const auto removed = notice(gone);
    ASSERT_TRUE(watch.add(one.get(), LeaseType::read, removed));
    ASSERT_TRUE(watch.add(one.get(), LeaseType::read, notice(here)));
    watch.remove(*removed);
    ASSERT_EQ(::fchmod(one.get(), 0640), 0);
    watch.read();
    EXPECT_EQ(gone, 0);
    EXPECT_EQ(here, 1);
  });
}

TEST_F(ChangeWatchTest, when_the_kernel_has_lost_count_all_are_told) {
  on_thread([&](ChangeWatch& watch) {
    int busy = 0, quiet = 0;
    const auto one = file("one"), two = file("two");
    ASSERT_TRUE(watch.add(one.get(), LeaseType::read, notice(busy)));
    ASSERT_TRUE(watch.add(two.get(), LeaseType::read, notice(quiet)));
    // Equal ones that follow each other count as one. /proc/sys/fs/inotify/max_queued_events
    for (int i = 0; i < 20'000; ++i) {
      ASSERT_EQ(::fchmod(one.get(), 0600), 0);
      ASSERT_EQ(::rename(path("one").c_str(), path("other").c_str()), 0);
      ASSERT_EQ(::rename(path("other").c_str(), path("one").c_str()), 0);
    }
    watch.read();
    EXPECT_EQ(busy, 1);
    EXPECT_EQ(quiet, 1);
  });
}

TEST_F(ChangeWatchTest, without_room_for_a_watch_there_is_none) {
  on_thread([&](ChangeWatch& watch) {
    int told = 0;
    const auto one = file("one");
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    const rlimit none{.rlim_cur = 3, .rlim_max = before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    EXPECT_FALSE(watch.add(one.get(), LeaseType::read, notice(told)));
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_TRUE(watch.add(one.get(), LeaseType::read, notice(told)));
  });
}

TEST_F(ChangeWatchTest, a_change_of_the_holders_own_that_hides_another_ones_is_no_excuse) {
  on_thread([&](ChangeWatch& watch) {
    int told = 0;
    const auto one = file("one");
    const auto holder = notice(told);
    ASSERT_TRUE(watch.add(one.get(), LeaseType::write, holder));
    watch.begin_own(*holder, 1);
    ASSERT_EQ(::fchmod(one.get(), 0640), 0);
    watch.read();
    watch.end_own(*holder, OwnChange::attributes, 1);
    EXPECT_EQ(told, 0);
    watch.begin_own(*holder, 1);
    ASSERT_EQ(::fchmod(one.get(), 0600), 0);
    ASSERT_EQ(::unlink(path("one").c_str()), 0);
    watch.read();
    watch.end_own(*holder, OwnChange::attributes, 0);
    EXPECT_EQ(told, 1);
  });
}

TEST_F(ChangeWatchTest, what_one_holder_changes_is_news_to_another) {
  on_thread([&](ChangeWatch& watch) {
    int own = 0, other = 0;
    const auto one = file("one");
    const auto holder = notice(own);
    ASSERT_TRUE(watch.add(one.get(), LeaseType::read, holder));
    ASSERT_TRUE(watch.add(one.get(), LeaseType::read, notice(other)));
    watch.begin_own(*holder, 1);
    ASSERT_EQ(::fchmod(one.get(), 0640), 0);
    watch.read();
    watch.end_own(*holder, OwnChange::attributes, 1);
    EXPECT_EQ(other, 1);
  });
}

// A directory's watch, with a file in it.
class DirectoryWatchTest : public ChangeWatchTest {
 protected:
  DirectoryWatchTest() { (void)file("old"); }
  [[nodiscard]] base::UniqueFd itself() const {
    return base::UniqueFd(::open(directory_.c_str(), O_PATH | O_CLOEXEC));
  }
};

TEST_F(DirectoryWatchTest, an_entry_that_comes_is_news_and_what_happens_to_one_that_is_there_is_not) {
  on_thread([&](ChangeWatch& watch) {
    int told = 0;
    const auto directory = itself();
    const auto holder = notice(told);
    ASSERT_TRUE(watch.add_directory(directory.get(), holder));
    ASSERT_EQ(::chmod(path("old").c_str(), 0640), 0);
    watch.read();
    EXPECT_EQ(told, 0);
    (void)file("new");
    watch.read();
    EXPECT_EQ(told, 1);
  });
}

TEST_F(DirectoryWatchTest, while_its_holder_changes_one_entry_a_change_of_another_is_news) {
  for (const bool hidden : {false, true}) {
    on_thread([&](ChangeWatch& watch) {
      int told = 0;
      const auto directory = itself();
      const auto holder = notice(told);
      ASSERT_TRUE(watch.add_directory(directory.get(), holder));
      watch.begin_own_entry(*holder, "new");
      (void)file("new");
      if (hidden) {
        ASSERT_EQ(::unlink(path("old").c_str()), 0);
      }
      watch.end_own_entry(*holder, "new");
      EXPECT_EQ(told, hidden ? 1 : 0);
      if (hidden) return;
      ASSERT_EQ(::unlink(path("new").c_str()), 0);
      watch.read();
      EXPECT_EQ(told, 1) << "its own change is over";
    });
  }
}

TEST_F(DirectoryWatchTest, an_entry_that_one_holder_changes_is_news_to_another) {
  on_thread([&](ChangeWatch& watch) {
    int own = 0, other = 0;
    const auto directory = itself();
    const auto holder = notice(own);
    ASSERT_TRUE(watch.add_directory(directory.get(), holder));
    ASSERT_TRUE(watch.add_directory(directory.get(), notice(other)));
    watch.begin_own_entry(*holder, "new");
    (void)file("new");
    watch.end_own_entry(*holder, "new");
    EXPECT_EQ(other, 1);
  });
}

TEST_F(DirectoryWatchTest, is_of_a_directory) {
  on_thread([&](ChangeWatch& watch) {
    int told = 0;
    const auto one = file("one");
    EXPECT_FALSE(watch.add_directory(one.get(), notice(told)));
  });
}

}  // namespace
}  // namespace braid::vfs::posix
