// Open files give their descriptors back when these run short, and get them again when they are used.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "bell.h"
#include "posix_fixture.h"

namespace braid::vfs {
namespace {

constexpr std::size_t descriptors_max = 32;

class ParkingTest : public PosixTest {
 protected:
  void SetUp() override {
    PosixTest::SetUp();
    if (IsSkipped()) return;
    if (::geteuid() != 0) GTEST_SKIP() << "files are opened by handle by root alone";
    options_.tree.sync = false;
    options_.tree.cache.descriptors_max = descriptors_max;
    restart();
  }
  Outcome<OpenFileRef> open(const FileRef& file, OpenAccess access = OpenAccess::both,
                            const Credentials& who = {}) {
    return run(fs_->open(who, file, access, OpenRule::caller));
  }
  OpenFileRef open_new(const std::string& name, OpenAccess access = OpenAccess::both) {
    return open(create(name)->file, access).value();
  }
  Outcome<std::string> read_open(const OpenFileRef& open, io::SlabCursor& cursor) {
    auto got = run(open->read(0, 4096, cursor));
    if (!got) return base::fail(got.error());
    std::string text(got->data.size(), '\0');
    got->data.in_memory().value().copy_to(0, std::as_writable_bytes(std::span(text)));
    return text;
  }
  Outcome<std::string> read_open(const OpenFileRef& open) { return read_open(open, *cursor_); }
  Outcome<WriteResult> write_open(const OpenFileRef& open, std::string_view text) {
    const io::Payload data = payload(text);
    return run(open->write({}, 0, data, Stability::unstable));
  }
  [[nodiscard]] posix::FileCacheStats stats() const { return fs_->stats().cache; }
  // Others need so many descriptors that all files are parked that can be.
  void press() {
    for (int i = 0; i < 300; ++i) ASSERT_TRUE(create("other" + std::to_string(++others_)));
  }
  Outcome<> move(std::string_view from, std::string_view to) {
    Wcc other;
    return run(fs_->rename({}, root_, from, root_, to, wcc_, other));
  }

 private:
  int others_ = 0;
};
BRAID_ON_EVERY_FILE_SYSTEM(ParkingTest);

TEST_P(ParkingTest, many_more_files_are_open_than_there_are_descriptors_and_each_can_be_used) {
  constexpr int files = 500;
  std::vector<OpenFileRef> opens;
  for (int i = 0; i < files; ++i) {
    const FileRef file = create("file" + std::to_string(i))->file;
    auto opened = open(file);
    ASSERT_TRUE(opened) << i;
    opens.push_back(std::move(*opened));
    ASSERT_LE(stats().descriptors, descriptors_max + 1);
  }
  EXPECT_GT(stats().parked, files - descriptors_max);
  for (int i = 0; i < files; ++i)
    ASSERT_TRUE(write_open(opens[static_cast<std::size_t>(i)], std::to_string(i))) << i;
  for (int i = 0; i < files; ++i) {
    ASSERT_EQ(read_open(opens[static_cast<std::size_t>(i)]), std::to_string(i));
    ASSERT_LE(stats().descriptors, descriptors_max + 1);
  }
  EXPECT_EQ(local_read("file77"), "77");
  EXPECT_EQ(stats().too_many_open_files, 0U);
  opens.clear();
  EXPECT_EQ(stats().parked, 0U);
  EXPECT_EQ(read(find("file77")), "77");
}

TEST_P(ParkingTest, rights_are_those_of_the_moment_when_the_file_was_opened) {
  local_write("file", "text");
  ASSERT_EQ(::chown(local("file").c_str(), 1000, 1000), 0);
  ASSERT_EQ(::chmod(local("file").c_str(), 0600), 0);
  const auto reader = open(find("file"), OpenAccess::read, user(1000)).value();
  const auto writer = open(find("file"), OpenAccess::write, user(1000)).value();
  ASSERT_EQ(::chmod(local("file").c_str(), 0), 0);
  ASSERT_EQ(::chown(local("file").c_str(), 7, 7), 0);
  press();
  ASSERT_EQ(stats().parked, 1U);
  EXPECT_EQ(read_open(reader), "text");
  EXPECT_TRUE(write_open(writer, "more"));
  EXPECT_EQ(write_open(reader, "none").error(), Error::acces);
  EXPECT_EQ(read_open(writer).error(), Error::acces);
  EXPECT_EQ(read_open(reader), "more");
}

TEST_P(ParkingTest, a_file_that_loses_its_last_name_keeps_its_descriptors) {
  const auto removed = open_new("removed"), covered = open_new("covered");
  ASSERT_TRUE(write_open(removed, "one") && write_open(covered, "two"));
  ASSERT_TRUE(create("new"));
  press();
  ASSERT_EQ(stats().parked, 2U);
  ASSERT_TRUE(remove("removed"));
  ASSERT_TRUE(move("new", "covered"));
  press();
  EXPECT_EQ(stats().parked, 0U);
  EXPECT_EQ(read_open(removed), "one");
  EXPECT_EQ(read_open(covered), "two");
  EXPECT_TRUE(run(fs_->resolve(removed->file()->handle().view())));
}

TEST_P(ParkingTest, a_parked_file_that_a_local_process_removes_is_stale) {
  const auto opened = open_new("file");
  press();
  ASSERT_EQ(stats().parked, 1U);
  ASSERT_EQ(::unlink(local("file").c_str()), 0);
  EXPECT_EQ(read_open(opened).error(), Error::stale);
  EXPECT_EQ(write_open(opened, "text").error(), Error::stale);
  EXPECT_EQ(run(opened->commit({}, 0, 0)).error(), Error::stale);
}

TEST_P(ParkingTest, a_file_that_a_local_process_removed_before_is_not_parked) {
  const auto opened = open_new("file");
  ASSERT_TRUE(write_open(opened, "text"));
  ASSERT_EQ(::unlink(local("file").c_str()), 0);
  press();
  EXPECT_EQ(read_open(opened), "text");
}

TEST_P(ParkingTest, a_parked_file_is_renamed_and_found_by_name_and_by_handle) {
  const auto opened = open_new("file");
  ASSERT_TRUE(write_open(opened, "text"));
  press();
  ASSERT_TRUE(move("file", "other name"));
  EXPECT_EQ(read_open(opened), "text");
  press();
  ASSERT_EQ(stats().parked, 1U);
  EXPECT_EQ(find("other name").get(), opened->file().get()) << "one object for a handle";
  EXPECT_EQ(stats().parked, 0U);
  press();
  EXPECT_EQ(attributes(opened->file()).size, 4U);
}

TEST_P(ParkingTest, everything_that_an_open_is_for_opens_a_parked_file) {
  const auto opened = open_new("file");
  const auto parked = [&] {
    press();
    return stats().parked == 1;
  };
  ASSERT_TRUE(write_open(opened, "0123456789"));
  SetAttributes four;
  four.size = 4;
  ASSERT_TRUE(parked());
  Wcc wcc;
  EXPECT_TRUE(run(opened->set({}, four, &wcc)));
  EXPECT_EQ(wcc.after->size, 4U);
  ASSERT_TRUE(parked());
  EXPECT_EQ(run(opened->seek(0, SeekTo::hole))->offset, 4U);
  ASSERT_TRUE(parked());
  EXPECT_TRUE(run(opened->allocate({}, 0, 8192)));
  ASSERT_TRUE(parked());
  EXPECT_TRUE(run(opened->deallocate({}, 4096, 4096)));
  ASSERT_TRUE(parked());
  EXPECT_TRUE(run(opened->advise(0, 100, Advice::sequential)));
  ASSERT_TRUE(parked());
  EXPECT_TRUE(run(opened->commit({}, 0, 0, &wcc)));
  const auto other = open_new("target");
  press();
  ASSERT_EQ(stats().parked, 2U);
  EXPECT_EQ(run(other->copy_from({}, *opened, 0, 0, 4)), 4U);
  EXPECT_EQ(read_open(other), "0123");
}

TEST_P(ParkingTest, bytes_that_are_not_synced_are_not_forgotten) {
  const auto opened = open_new("file");
  const auto written = write_open(opened, "text");
  press();
  ASSERT_EQ(stats().parked, 1U);
  EXPECT_EQ(run(opened->commit({}, 0, 0)), written->verifier);
}

TEST_P(ParkingTest, a_locked_file_keeps_its_descriptors) {
  const auto opened = open_new("file");
  press();
  ASSERT_EQ(stats().parked, 1U);
  const LockOwnerId owner(1);
  ASSERT_EQ(run(fs_->lock(opened, owner, {0, 10}, LockType::write)), std::nullopt);
  press();
  EXPECT_EQ(stats().parked, 0U);
  const base::UniqueFd local(::open(this->local("file").c_str(), O_RDWR | O_CLOEXEC));
  struct flock lock{};
  lock.l_type = F_WRLCK;
  EXPECT_NE(::fcntl(local.get(), F_OFD_SETLK, &lock), 0);
  ASSERT_TRUE(run(fs_->unlock(opened->file(), owner, {0, 10})));
  press();
  EXPECT_EQ(stats().parked, 1U);
  EXPECT_EQ(run(fs_->test_lock(opened->file(), owner, {0, 10}, LockType::write)), std::nullopt);
}

TEST_P(ParkingTest, a_file_with_a_lease_keeps_its_descriptors) {
  auto opened = open_new("file", OpenAccess::read);
  press();
  ASSERT_EQ(stats().parked, 1U);
  Bell bell;
  auto lease = run(fs_->lease(opened, LeaseType::read, LeaseHolder(7), bell.ring()));
  ASSERT_TRUE(lease);
  press();
  EXPECT_EQ(stats().parked, 0U);
  const base::UniqueFd local(::open(this->local("file").c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
  EXPECT_FALSE(local);
  EXPECT_TRUE(bell.wait());
  lease->reset();
  press();
  EXPECT_EQ(stats().parked, 1U);
}

TEST_P(ParkingTest, a_lease_is_refused_because_of_opens_that_are_parked) {
  const FileRef file = create("file")->file;
  const auto writer = open(file, OpenAccess::write).value();
  const auto reader = open(file, OpenAccess::read).value();
  press();
  // The first one alone is opened again.
  ASSERT_EQ(read_open(reader), "");
  Bell bell;
  EXPECT_EQ(run(fs_->lease(reader, LeaseType::read, LeaseHolder(7), bell.ring())).error(), Error::delay);
}

TEST_P(ParkingTest, files_that_are_locked_leave_descriptors_for_those_that_are_open) {
  std::vector<OpenFileRef> opens;
  for (int i = 0; i < 50; ++i) opens.push_back(open_new("file" + std::to_string(i)));
  const LockOwnerId owner(1);
  std::size_t locked = 0, before_half = 0;
  Outcome<std::optional<LockConflict>> last(std::in_place);
  while (last && locked < opens.size()) {
    if (!fs_->few_locks_left()) ++before_half;
    last = run(fs_->lock(opens[locked], owner, {0, 10}, LockType::write));
    if (last) ++locked;
  }
  EXPECT_EQ(last.error(), Error::delay);
  EXPECT_GT(locked, descriptors_max / 8);
  EXPECT_LT(before_half, locked);
  EXPECT_GT(stats().too_many_open_files, 0U);
  EXPECT_FALSE(fs_->few_opens_left());
  for (const OpenFileRef& open : opens) ASSERT_TRUE(write_open(open, "text"));
  for (std::size_t i = 0; i < locked; ++i) ASSERT_TRUE(run(fs_->unlock(opens[i]->file(), owner, {0, 10})));
  EXPECT_FALSE(fs_->few_locks_left());
  EXPECT_TRUE(run(fs_->lock(opens[locked], owner, {0, 10}, LockType::write)));
  EXPECT_TRUE(run(fs_->unlock(opens[locked]->file(), owner, {0, 10})));
}

TEST_P(ParkingTest, a_peer_leaves_room_for_files_without_a_name_of_others) {
  options_.tree.cache.descriptors_max = 256;
  restart();
  std::vector<OpenFileRef> opens;
  for (int i = 0; i < 100; ++i) opens.push_back(open_new("file" + std::to_string(i)));
  std::size_t removed = 0;
  const auto remove_all = [&](std::uint64_t peer) {
    Credentials who;
    who.peer = io::PeerId(peer);
    const std::size_t before = removed;
    Outcome<> last;
    while (last && removed < opens.size()) {
      last = run(fs_->remove(who, root_, "file" + std::to_string(removed), wcc_));
      if (last) ++removed;
    }
    EXPECT_TRUE(!last && last.error() == Error::delay);
    return removed - before;
  };
  EXPECT_EQ(remove_all(1), 38U) << "half as many as are left of seven eighths";
  EXPECT_GT(stats().nameless_refused, 0U);
  EXPECT_GE(remove_all(2), 16U);
  EXPECT_GE(remove_all(3), 10U);
  // What is closed may be had again.
  for (int i = 0; i < 20; ++i) opens[static_cast<std::size_t>(i)].reset();
  EXPECT_GT(remove_all(1), 0U);
}

TEST_P(ParkingTest, files_without_a_name_leave_descriptors_for_those_that_have_one) {
  std::vector<OpenFileRef> opens;
  for (int i = 0; i < 50; ++i) {
    opens.push_back(open_new("file" + std::to_string(i)));
    ASSERT_TRUE(write_open(opens.back(), std::to_string(i)));
  }
  std::size_t removed = 0;
  Outcome<> last;
  while (last && removed < opens.size()) {
    last = remove("file" + std::to_string(removed));
    if (last) ++removed;
  }
  EXPECT_EQ(last.error(), Error::delay);
  EXPECT_GT(removed, descriptors_max / 4);
  EXPECT_EQ(move("file49", "file48").error(), Error::delay);
  EXPECT_TRUE(local_read("file48") == "48" && create("other")) << "nothing was done, and others go on";
  EXPECT_TRUE(remove("other")) << "nobody has it open";
  for (std::size_t i = 0; i < opens.size(); ++i) EXPECT_EQ(read_open(opens[i]), std::to_string(i));
  opens[0].reset();
  opens[1].reset();
  EXPECT_TRUE(remove("file49"));
}

TEST_P(ParkingTest, a_program_that_runs_meanwhile_keeps_a_writer_waiting) {
  const auto writer = open(create("program", 0755)->file, OpenAccess::write).value();
  {
    std::ifstream from("/bin/sleep", std::ios::binary);
    std::ofstream to(local("program"), std::ios::binary);
    to << from.rdbuf();
  }
  press();
  ASSERT_EQ(stats().parked, 1U);
  const std::string path = local("program");
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(::execl(path.c_str(), "sleep", "600", nullptr));
  ::close(pipe[1]);
  char byte = 0;
  EXPECT_EQ(::read(pipe[0], &byte, 1), 0) << "it runs";
  ::close(pipe[0]);
  EXPECT_EQ(write_open(writer, "text").error(), Error::delay);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(write_open(writer, "text"));
}

TEST_P(ParkingTest, without_handles_that_last_open_files_keep_their_descriptors) {
  options_.tree.root.persistent_handles = false;
  restart();
  std::vector<OpenFileRef> opens;
  for (int i = 0; i < 100; ++i) {
    auto opened = open(create("file" + std::to_string(i))->file);
    if (!opened) break;
    opens.push_back(std::move(*opened));
  }
  EXPECT_LT(opens.size(), descriptors_max);
  EXPECT_EQ(stats().parked, 0U);
  for (const OpenFileRef& open : opens) EXPECT_TRUE(write_open(open, "text"));
}

TEST_P(ParkingTest, parked_files_are_used_by_many_at_once) {
  constexpr std::size_t files = 64, threads = 4, rounds = 400;
  std::vector<OpenFileRef> opens;
  for (std::size_t i = 0; i < files; ++i) {
    opens.push_back(open_new("file" + std::to_string(i)));
    ASSERT_TRUE(write_open(opens.back(), std::to_string(i)));
  }
  std::atomic<std::size_t> wrong{0}, refused{0};
  const auto work = [&](std::size_t thread) {
    io::SlabCursor cursor(slabs_);
    for (std::size_t round = 0; round < rounds; ++round) {
      const std::size_t i = (round * 7 + thread * 13) % files;
      const auto text = read_open(opens[i], cursor);
      if (!text) ++(text.error() == Error::delay ? refused : wrong);
      if (text && *text != std::to_string(i)) ++wrong;
      // Opens of the same file come and go.
      auto more = open(opens[i]->file(), OpenAccess::read);
      if (!more) ++(more.error() == Error::delay ? refused : wrong);
      if (more && read_open(*more, cursor) != std::to_string(i)) ++refused;
    }
  };
  {
    std::vector<std::jthread> all;
    for (std::size_t thread = 0; thread < threads; ++thread) all.emplace_back(work, thread);
  }
  EXPECT_EQ(wrong, 0U);
  EXPECT_LT(refused, threads * rounds / 10) << "there are descriptors for all of them";
  EXPECT_GT(stats().parkings, files);
  for (std::size_t i = 0; i < files; ++i) EXPECT_EQ(read_open(opens[i]), std::to_string(i));
}

}  // namespace
}  // namespace braid::vfs
