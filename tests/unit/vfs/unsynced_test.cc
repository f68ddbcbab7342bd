// What happens to bytes that were answered UNSTABLE when the descriptor they were written through is closed.
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "posix_fixture.h"
#include "system_faults.h"

namespace braid::vfs {
namespace {

using namespace std::chrono_literals;
using test::SystemCall;
using test::SystemFaults;

class UnsyncedTest : public PosixTest {
 protected:
  void SetUp() override {
    PosixTest::SetUp();
    if (GetParam() == "tmpfs") GTEST_SKIP() << "nothing is synced there";
    options_.tree.write_backs = std::make_shared<posix::WriteBacks>();
    options_.tree.cache.write_idle_max = 0ns;
    restart();
  }
  FileRef resolve(const FileHandle& handle) { return run(fs_->resolve(handle.view())).value(); }
  // A file with unsynced bytes that the cache has closed.
  FileHandle written(std::string_view name) {
    const FileRef file = create(name)->file;
    EXPECT_TRUE(write(file, "text"));
    return file->handle();
  }
  [[nodiscard]] std::size_t unsynced() const { return fs_->stats().unsynced; }
};
BRAID_ON_EVERY_FILE_SYSTEM(UnsyncedTest);

TEST_P(UnsyncedTest, a_commit_of_a_clean_file_costs_no_sync) {
  const FileRef file = create("file")->file;
  SystemFaults faults;
  ASSERT_TRUE(commit(file));
  EXPECT_EQ(faults.calls(SystemCall::fsync), 0U);
  ASSERT_TRUE(write(file, "text"));
  ASSERT_TRUE(commit(file));
  EXPECT_EQ(faults.calls(SystemCall::fsync), 1U);
  ASSERT_TRUE(commit(file));
  EXPECT_EQ(faults.calls(SystemCall::fsync), 1U);
}

TEST_P(UnsyncedTest, a_commit_that_fails_leaves_the_file_to_the_next_one) {
  const FileRef file = create("file")->file;
  ASSERT_TRUE(write(file, "text"));
  SystemFaults faults;
  faults.add({.call = SystemCall::fsync, .error = EIO});
  EXPECT_FALSE(commit(file));
  EXPECT_TRUE(commit(file));
  EXPECT_EQ(faults.calls(SystemCall::fsync), 2U);
}

TEST_P(UnsyncedTest, a_closed_writer_leaves_one_that_keeps_no_program_from_being_executed) {
  const FileHandle handle = written("file");
  fs_->sweep();
  EXPECT_EQ(unsynced(), 1U);
  const base::UniqueFd here(::open(local("file").c_str(), O_RDONLY));
  // Given only if nobody has the file open for writing.
  EXPECT_EQ(::fcntl(here.get(), F_SETLEASE, F_RDLCK), 0);
  EXPECT_EQ(::fcntl(here.get(), F_SETLEASE, F_UNLCK), 0);
  SystemFaults faults;
  ASSERT_TRUE(commit(resolve(handle)));
  EXPECT_EQ(faults.calls(SystemCall::fsync), 1U);
  EXPECT_EQ(unsynced(), 0U);
}

TEST_P(UnsyncedTest, a_closed_open_leaves_one_too_but_not_after_a_commit) {
  for (const bool commits : {false, true}) {
    const FileRef file = create("file" + std::to_string(commits))->file;
    auto open = run(fs_->open({}, file, OpenAccess::write, OpenRule::caller)).value();
    const io::Payload data = payload("text");
    ASSERT_TRUE(run(open->write({}, 0, data, Stability::unstable)));
    if (commits) {
      ASSERT_TRUE(commit(file));
    }
    ASSERT_TRUE(run(fs_->close(std::move(open))));
    EXPECT_EQ(unsynced(), 1U);
  }
}

TEST_P(UnsyncedTest, what_is_let_go_is_synced_and_a_failure_changes_the_verifier) {
  for (const bool fails : {false, true}) {
    const FileHandle handle = written("file" + std::to_string(fails));
    fs_->sweep();
    ASSERT_EQ(unsynced(), 1U);
    const Verifier before = verifier();
    SystemFaults faults;
    if (fails) faults.add({.call = SystemCall::fsync, .error = EIO});
    fs_->tree().write_back().let_go_kept();
    EXPECT_EQ(faults.calls(SystemCall::fsync), 1U);
    EXPECT_EQ(unsynced(), 0U);
    EXPECT_EQ(verifier() != before, fails);
    ASSERT_TRUE(commit(resolve(handle)));
    EXPECT_EQ(faults.calls(SystemCall::fsync), 1U) << "nothing is left to be synced";
  }
}

TEST_P(UnsyncedTest, what_cannot_be_kept_open_is_synced) {
  const FileHandle handle = written("file");
  SystemFaults faults;
  faults.add({.call = SystemCall::open, .error = EMFILE});
  fs_->sweep();
  EXPECT_EQ(faults.calls(SystemCall::fsync), 1U);
  EXPECT_EQ(unsynced(), 0U);
  ASSERT_TRUE(commit(resolve(handle)));
  EXPECT_EQ(faults.calls(SystemCall::fsync), 1U);
}

TEST_P(UnsyncedTest, an_error_that_is_known_when_the_descriptor_is_closed_changes_the_verifier) {
  written("file");
  const Verifier before = verifier();
  SystemFaults faults;
  faults.add({.call = SystemCall::sync_file_range, .error = EIO});
  fs_->sweep();
  EXPECT_NE(verifier(), before);
}

TEST_P(UnsyncedTest, a_file_that_is_removed_is_not_kept_for_its_bytes) {
  written("file");
  fs_->sweep();
  ASSERT_EQ(unsynced(), 1U);
  ASSERT_TRUE(remove("file"));
  EXPECT_EQ(unsynced(), 0U);
  written("other");
  fs_->sweep();
  ASSERT_EQ(unsynced(), 1U);
  ASSERT_EQ(::unlink(local("other").c_str()), 0);
  fs_->sweep();
  EXPECT_EQ(unsynced(), 0U);
}

TEST_P(UnsyncedTest, a_write_lease_finds_no_descriptor_in_its_way) {
  const FileHandle handle = written("file");
  fs_->sweep();
  ASSERT_EQ(unsynced(), 1U);
  const auto open = run(fs_->open({}, resolve(handle), OpenAccess::both, OpenRule::caller)).value();
  EXPECT_TRUE(run(fs_->lease(open, LeaseType::write, LeaseHolder(1), [] {})));
  EXPECT_EQ(unsynced(), 0U);
}

TEST_P(UnsyncedTest, exports_of_one_directory_know_of_each_others_writes) {
  PosixOptions other = options_;
  other.tree.id = ExportId(6);
  const auto second = PosixFileSystem::open(other, clock_).value();
  const FileRef file = create("file")->file;
  ASSERT_TRUE(write(file, "text"));
  const FileRef there = run(second->lookup({}, second->root(), "file")).value().file;
  SystemFaults faults;
  const Credentials root_user;
  EXPECT_TRUE(run(second->borrow(root_user, there)->commit(root_user, 0, 0)));
  EXPECT_EQ(faults.calls(SystemCall::fsync), 1U);
  EXPECT_TRUE(commit(file));
  EXPECT_EQ(faults.calls(SystemCall::fsync), 1U);
}

// A disk that takes no more although it is larger: the file that it is made of lies on a small tmpfs.
class LostBytesTest : public UnsyncedTest {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "mounts need root";
    const auto backing = mount_tmpfs("size=16m");
    if (!backing) GTEST_SKIP() << backing.error();
    const std::string image = *backing + "/image", mount = *backing + "/mount";
    // Without a journal, whose failure would make the file system read-only.
    const std::string make = "truncate -s 64M " + image + " && mkfs.ext4 -q -F -O ^has_journal " + image +
                             " && mkdir " + mount + " && mount -o loop,errors=continue " + image + " " +
                             mount;
    if (::system((make + " >/dev/null 2>&1").c_str()) != 0) GTEST_SKIP() << "ext4 cannot be mounted here";
    start(mount);
    options_.tree.write_backs = std::make_shared<posix::WriteBacks>();
    options_.tree.cache.write_idle_max = 0ns;
    restart();
    file_ = create("file")->file;
    handle_ = file_->handle();
    before_ = verifier();
  }
  void TearDown() override {
    file_ = {};
    options_.directory.clear();  // it cannot be removed; the mount goes with the process
    UnsyncedTest::TearDown();
  }
  // More than the disk takes.
  [[nodiscard]] io::Payload much() {
    const io::Payload piece = payload(std::string(io::small_slab_bytes, 'x'));
    io::Payload out;
    while (out.size() < 24 * base::MiB) out.append(piece);
    return out;
  }
  void write_much() {
    const io::Payload data = much();
    ASSERT_EQ(write_to(file_, 0, data, Stability::unstable)->count, data.size());
  }

  // A local process that syncs the file hears of the error, as nobody else will who opens the file later.
  void hear_first() const {
    const base::UniqueFd here(::open(local("file").c_str(), O_RDONLY));
    ASSERT_NE(::fsync(here.get()), 0) << "the disk takes everything";
  }
  // OK with an unchanged verifier would mean that the bytes are on the medium.
  void expect_known() {
    const auto committed = commit(resolve(handle_));
    EXPECT_FALSE(committed && *committed == before_);
  }
  FileRef file_;
  FileHandle handle_;
  Verifier before_;
};
INSTANTIATE_TEST_SUITE_P(, LostBytesTest, testing::Values("ext4"));

TEST_P(LostBytesTest, bytes_that_were_lost_after_the_cache_closed_the_file_are_known_to_be) {
  write_much();
  file_ = {};
  fs_->sweep();
  hear_first();
  expect_known();
}

TEST_P(LostBytesTest, bytes_that_were_lost_before_the_cache_closed_the_file_are_known_to_be) {
  write_much();
  file_ = {};
  hear_first();
  fs_->sweep();
  expect_known();
}

TEST_P(LostBytesTest, bytes_that_were_lost_after_a_close_are_known_to_be) {
  auto open = run(fs_->open({}, file_, OpenAccess::write, OpenRule::caller)).value();
  const io::Payload data = much();
  ASSERT_TRUE(run(open->write({}, 0, data, Stability::unstable)));
  ASSERT_TRUE(run(fs_->close(std::move(open))));
  hear_first();
  expect_known();
}

TEST_P(LostBytesTest, bytes_that_were_lost_across_a_reload_are_known_to_be) {
  write_much();
  file_ = {};
  restart();
  hear_first();
  expect_known();
}

}  // namespace
}  // namespace braid::vfs
