// What a WRITE and a COMMIT answer when the medium fails.
#include <sys/mman.h>
#include <unistd.h>

#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>

#include "posix_fixture.h"
#include "system_faults.h"

namespace braid::vfs {
namespace {

using test::every;
using test::SystemCall;
using test::SystemFaults;

// What fsync(2) says in its manual page, and what else kernels say.
constexpr int sync_errors[] = {EIO, ENOSPC, EDQUOT, EROFS, EINTR, ENOMEM, EAGAIN, EINVAL, ETIMEDOUT, ENOBUFS};

class WriteFaultsTest : public PosixTest {
 protected:
  void SetUp() override {
    PosixTest::SetUp();
    if (GetParam() == "tmpfs") GTEST_SKIP() << "nothing is synced there";
  }
  // The text of a large WRITE as it comes from a socket.
  [[nodiscard]] io::Payload piped(io::PipePool& pipes, const std::string& text) const {
    const base::UniqueFd source(::memfd_create("source", MFD_CLOEXEC));
    EXPECT_EQ(::pwrite(source.get(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
    io::SlabRef pipe = pipes.take().value();
    EXPECT_EQ(pipe.pipe()->fill(source.get(), 0, text.size()).value(), text.size());
    return io::Payload(io::SlabRange{std::move(pipe), 0, static_cast<std::uint32_t>(text.size())});
  }
};
BRAID_ON_EVERY_FILE_SYSTEM(WriteFaultsTest);

TEST_P(WriteFaultsTest, a_stable_write_from_a_pipe_is_never_to_be_repeated) {
  const auto file = create("file")->file;
  const std::string text(100'000, 'x');
  for (const auto& [stability, call] : {std::pair{Stability::file_sync, SystemCall::fsync},
                                        std::pair{Stability::data_sync, SystemCall::fdatasync}})
    for (const int error : sync_errors) {
      io::PipePool pipes;
      const io::Payload data = piped(pipes, text);
      ASSERT_TRUE(write(file, "unsynced"));
      const Verifier before = verifier();
      SystemFaults faults;
      faults.add({.call = call, .error = error});
      const auto written = write_to(file, 0, data, stability);
      ASSERT_FALSE(written) << ::strerror(error);
      EXPECT_NE(written.error(), Error::delay) << ::strerror(error);
      EXPECT_EQ(faults.calls(call), 1U);
      EXPECT_NE(verifier(), before) << ::strerror(error);
    }
}

TEST_P(WriteFaultsTest, what_a_pipe_could_not_give_is_given_when_the_write_is_repeated) {
  const auto file = create("file")->file;
  const std::string text(100'000, 'x');
  for (const int error : {EAGAIN, ENOMEM, EINTR}) {
    io::PipePool pipes;
    const io::Payload data = piped(pipes, text);
    SystemFaults faults;
    faults.add({.call = SystemCall::splice, .error = error});
    EXPECT_EQ(write_to(file, 0, data, Stability::unstable).error(), Error::delay);
    EXPECT_EQ(write_to(file, 0, data, Stability::unstable)->count, text.size());
    EXPECT_EQ(local_read("file"), text);
  }
}

TEST_P(WriteFaultsTest, a_write_that_is_always_interrupted_ends) {
  const auto file = create("file")->file;
  io::PipePool pipes;
  const io::Payload data = piped(pipes, std::string(100'000, 'x'));
  SystemFaults faults;
  faults.add({.call = SystemCall::pwritev2, .error = EINTR, .nth = every});
  faults.add({.call = SystemCall::splice, .error = EINTR, .nth = every});
  EXPECT_EQ(write(file, "text").error(), Error::delay);
  EXPECT_EQ(write_to(file, 0, data, Stability::unstable).error(), Error::delay);
}

TEST_P(WriteFaultsTest, whatever_a_sync_says_the_verifier_changes) {
  const auto file = create("file")->file;
  for (const unsigned nth : {1U, 2U, every})
    for (const bool done : {false, true})
      for (const int error : sync_errors) {
        SystemFaults faults;
        faults.add({.call = SystemCall::fsync, .error = error, .nth = nth, .done = done});
        for (unsigned commits = 1; commits <= 2; ++commits) {
          ASSERT_TRUE(write(file, "text"));
          const Verifier before = verifier();
          const auto committed = commit(file);
          const bool fails = nth == every || nth == commits;
          EXPECT_EQ(committed.has_value(), !fails) << ::strerror(error);
          EXPECT_EQ(verifier() == before, !fails) << ::strerror(error);
          if (fails) {
            EXPECT_NE(committed.error(), Error::delay) << ::strerror(error);
          }
        }
      }
}

TEST_P(WriteFaultsTest, whatever_a_stable_write_says_the_verifier_changes) {
  const auto file = create("file")->file;
  const auto open = run(fs_->open({}, file, OpenAccess::both, OpenRule::caller)).value();
  for (const bool by_open : {false, true})
    for (const Stability stability : {Stability::data_sync, Stability::file_sync})
      for (const int error : sync_errors) {
        const io::Payload data = payload("text");
        ASSERT_TRUE(write(file, "unsynced"));
        const Verifier before = verifier();
        SystemFaults faults;
        faults.add({.call = SystemCall::pwritev2, .error = error, .done = true});
        const auto written =
            by_open ? run(open->write({}, 0, data, stability)) : write_to(file, 0, data, stability);
        ASSERT_FALSE(written) << ::strerror(error);
        EXPECT_NE(written.error(), Error::delay) << ::strerror(error);
        EXPECT_NE(verifier(), before) << ::strerror(error);
      }
}

TEST_P(WriteFaultsTest, a_stable_write_that_fails_where_all_is_synced_changes_no_verifier) {
  const auto file = create("file")->file;
  ASSERT_TRUE(write(file, "text"));
  ASSERT_TRUE(commit(file));
  const io::Payload data = payload("more");
  const Verifier before = verifier();
  for (const int error : {EDQUOT, EIO}) {
    SystemFaults faults;
    faults.add({.call = SystemCall::pwritev2, .error = error, .done = true});
    EXPECT_FALSE(write_to(file, 0, data, Stability::file_sync));
    EXPECT_EQ(verifier(), before);
  }
}

TEST_P(WriteFaultsTest, a_write_that_ends_after_its_first_bytes_changes_the_verifier) {
  const auto file = create("file")->file;
  ASSERT_TRUE(write(file, "unsynced"));
  for (const Stability stability : {Stability::unstable, Stability::file_sync}) {
    io::PipePool pipes;
    io::Payload data = payload("first");
    data.append(piped(pipes, std::string(10'000, 'x')));
    const Verifier before = verifier();
    SystemFaults faults;
    faults.add({.call = SystemCall::splice, .error = EIO});
    const auto written = write_to(file, 0, data, stability);
    ASSERT_TRUE(written);
    EXPECT_EQ(written->count, 5U);
    EXPECT_NE(verifier(), before);
  }
}

TEST_P(WriteFaultsTest, a_write_that_does_nothing_changes_no_verifier) {
  const auto file = create("file")->file;
  const Verifier before = verifier();
  SystemFaults faults;
  faults.add({.call = SystemCall::pwritev2, .error = ENOSPC});
  EXPECT_EQ(write(file, "text").error(), Error::nospc);
  EXPECT_EQ(verifier(), before);
}

TEST_P(WriteFaultsTest, exports_of_one_file_system_have_one_verifier) {
  options_.tree.write_backs = std::make_shared<posix::WriteBacks>();
  restart();
  PosixOptions other = options_;
  other.directory = local("sub");
  other.tree.id = ExportId(6);
  ASSERT_TRUE(mkdir("sub"));
  const auto sub = PosixFileSystem::open(other, clock_).value();
  const auto file = create("file")->file;
  ASSERT_TRUE(write(file, "text"));
  const Verifier before = verifier_of(*sub);
  EXPECT_EQ(verifier(), before);
  {
    SystemFaults faults;
    faults.add({.call = SystemCall::fsync, .error = EIO});
    EXPECT_FALSE(commit(file));
  }
  EXPECT_NE(verifier_of(*sub), before);
  EXPECT_EQ(verifier(), verifier_of(*sub));
  restart();
  EXPECT_EQ(verifier(), verifier_of(*sub)) << "as after a reload";
}

TEST_P(WriteFaultsTest, a_copy_that_ends_after_its_first_bytes_changes_the_verifier) {
  const auto from = create("from")->file;
  const auto to = create("to")->file;
  const io::Payload data = payload(std::string(600'000, 'x'));
  ASSERT_TRUE(write_to(from, 0, data, Stability::unstable));
  const auto source = run(fs_->open({}, from, OpenAccess::read, OpenRule::caller)).value();
  const auto target = run(fs_->open({}, to, OpenAccess::both, OpenRule::caller)).value();
  for (const unsigned nth : {1U, 2U}) {
    const Verifier before = verifier();
    SystemFaults faults;
    faults.add({.call = SystemCall::copy_file_range, .error = EXDEV});
    faults.add({.call = SystemCall::pwrite, .error = EIO, .nth = nth});
    const auto copied = run(target->copy_from({}, *source, 0, 0, data.size()));
    EXPECT_EQ(copied.has_value(), nth == 2);
    EXPECT_EQ(verifier() != before, nth == 2) << "nothing was written, nothing is lost";
  }
}

// Of a network file system, where whoever writes is told of what others wrote.
TEST_P(WriteFaultsTest, a_copy_and_an_allocation_hear_of_lost_bytes) {
  constexpr std::int64_t nfs_magic = 0x6969;
  SystemFaults faults;
  faults.pretend(nfs_magic);
  restart();
  const auto from = create("from")->file;
  const auto to = create("to")->file;
  ASSERT_TRUE(write(from, "text"));
  const auto source = run(fs_->open({}, from, OpenAccess::read, OpenRule::caller)).value();
  const auto target = run(fs_->open({}, to, OpenAccess::both, OpenRule::caller)).value();
  ASSERT_TRUE(write(to, "unsynced"));
  Verifier before = verifier();
  faults.add({.call = SystemCall::copy_file_range, .error = EIO});
  EXPECT_FALSE(run(target->copy_from({}, *source, 0, 0, 4)));
  EXPECT_NE(verifier(), before);
  before = verifier();
  faults.add({.call = SystemCall::fallocate, .error = EIO});
  EXPECT_FALSE(run(target->allocate({}, 0, 4)));
  EXPECT_NE(verifier(), before);
}

// A failing fsync(2) that has taken the error but not returned, while another call is made.
class OvertakingTest : public WriteFaultsTest {
 protected:
  void SetUp() override {
    WriteFaultsTest::SetUp();
    if (IsSkipped()) return;
    file_ = create("file")->file;
    ASSERT_TRUE(write(file_, "text"));
    before_ = verifier();
  }
  void TearDown() override {
    file_ = {};
    WriteFaultsTest::TearDown();
  }
  // Calls `other` while a COMMIT is inside; lets the COMMIT return when `other` has, or waits for it.
  template <class F>
  void overtake(F other) {
    faults_.add({.call = SystemCall::fsync, .error = EIO, .before = [this] { stay(); }});
    std::thread first([this] { EXPECT_EQ(commit(file_).error(), Error::io); });
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return inside_; });
    }
    other();
    {
      const std::scoped_lock lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    first.join();
  }
  void stay() {
    std::unique_lock lock(mutex_);
    inside_ = true;
    changed_.notify_all();
    // Who waits for this call is not over before it; who does not is so at once.
    changed_.wait_for(lock, std::chrono::milliseconds(300), [this] { return over_; });
  }

  FileRef file_;
  Verifier before_;
  SystemFaults faults_;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool inside_ = false, over_ = false;
};
BRAID_ON_EVERY_FILE_SYSTEM(OvertakingTest);

TEST_P(OvertakingTest, a_commit_does_not_overtake_the_bad_news_of_another) {
  overtake([this] {
    if (commit(file_)) {
      EXPECT_NE(verifier(), before_);
    }
  });
}

TEST_P(OvertakingTest, a_stable_write_does_not_overtake_the_bad_news_of_a_commit) {
  overtake([this] {
    const io::Payload data = payload("more");
    EXPECT_EQ(write_to(file_, 0, data, Stability::file_sync).error(), Error::io);
  });
}

}  // namespace
}  // namespace braid::vfs
