// What is answered when something fails after a name was made, removed or changed.
#include <sys/stat.h>

#include <cstring>

#include "posix_fixture.h"
#include "system_faults.h"

namespace braid::vfs {
namespace {

using test::every;
using test::SystemCall;
using test::SystemFaults;

constexpr int name_sync_errors[] = {EIO, ENOSPC, EDQUOT, EROFS, EINTR, ENOMEM, EAGAIN, ETIMEDOUT, ENOBUFS};

class NameFaultsTest : public PosixTest {
 protected:
  [[nodiscard]] bool there(std::string_view name) const {
    struct stat ignored{};
    return ::lstat(local(name).c_str(), &ignored) == 0;
  }
  Outcome<> rename(std::string_view from, const FileRef& to_directory, std::string_view to) {
    Wcc to_wcc;
    return run(fs_->rename({}, root_, from, to_directory, to, wcc_, to_wcc));
  }
  Outcome<OpenCreated> open_create(std::string_view name) {
    const CreateHow how{CreateHow::Mode::guarded, with_mode(0644), {}};
    return run(fs_->open_create({}, root_, name, OpenAccess::write, how, wcc_));
  }
  // Every call of fsync(2) and syncfs(2) says so.
  static void fail_syncs(SystemFaults& faults, int error) {
    faults.add({.call = SystemCall::fsync, .error = error, .nth = every});
    faults.add({.call = SystemCall::syncfs, .error = error, .nth = every});
  }
};
BRAID_ON_EVERY_FILE_SYSTEM(NameFaultsTest);

class NameSyncTest : public NameFaultsTest {
 protected:
  void SetUp() override {
    NameFaultsTest::SetUp();
    if (GetParam() == "tmpfs") GTEST_SKIP() << "nothing is synced there";
  }
  // `change` fails for every errno of its syncs, and never so that it would be made again.
  template <class Prepare, class F>
  void check(Prepare prepare, F change) {
    for (const int error : name_sync_errors) {
      prepare();
      const Verifier before = verifier();
      SystemFaults faults;
      fail_syncs(faults, error);
      const auto done = change();
      ASSERT_FALSE(done.has_value()) << ::strerror(error);
      EXPECT_NE(done.error(), Error::delay) << ::strerror(error);
      EXPECT_NE(done.error(), Error::too_many_open_files) << ::strerror(error);
      EXPECT_NE(verifier(), before) << ::strerror(error);
    }
  }
};
BRAID_ON_EVERY_FILE_SYSTEM(NameSyncTest);

TEST_P(NameSyncTest, what_was_made_is_not_made_again) {
  int number = 0;
  std::string name;
  const auto next = [&] { name = "name" + std::to_string(++number); };
  const SetAttributes set = with_mode(0755);
  check(next, [&] { return create(name); });
  EXPECT_TRUE(there(name));
  check(next, [&] { return open_create(name); });
  EXPECT_TRUE(there(name));
  check(next, [&] { return mkdir(name); });
  EXPECT_TRUE(there(name));
  check(next, [&] { return run(fs_->symlink({}, root_, name, "target", set, wcc_)); });
  EXPECT_TRUE(there(name));
  check(next, [&] { return run(fs_->mknod({}, root_, name, {FileType::fifo, {}}, set, wcc_)); });
  EXPECT_TRUE(there(name));
}

TEST_P(NameSyncTest, what_was_removed_renamed_or_linked_is_not_so_again) {
  const FileRef other = mkdir("other")->file;
  const auto fresh = [&] { local_write("name", "x"); };
  check(fresh, [&] { return remove("name"); });
  EXPECT_FALSE(there("name"));
  check(fresh, [&] { return rename("name", root_, "to"); });
  EXPECT_FALSE(there("name"));
  check(fresh, [&] { return rename("name", other, "to"); });
  EXPECT_FALSE(there("name"));
  fresh();
  const FileRef file = find("name");
  int number = 0;
  check([&] { ++number; },
        [&] { return run(fs_->link({}, file, root_, "link" + std::to_string(number), wcc_)); });
  EXPECT_TRUE(there("link1"));
  check([&] { ::mkdir(local("directory").c_str(), 0755); },
        [&] { return run(fs_->rmdir({}, root_, "directory", wcc_)); });
  EXPECT_FALSE(there("directory"));
}

TEST_P(NameSyncTest, attributes_that_were_set_are_not_set_again) {
  const FileRef file = create("file")->file;
  const auto open = run(fs_->open({}, file, OpenAccess::both, OpenRule::caller)).value();
  const auto nothing = [] {};
  SetAttributes set = with_mode(0600);
  set.size = 10;
  check(nothing, [&] { return setattr(file, set); });
  check(nothing, [&] { return run(open->set({}, set)); });
  check(nothing, [&] { return run(open->allocate({}, 0, 4096)); });
  const base::BytesView value = base::bytes_of("value");
  check(nothing, [&] { return run(fs_->set_xattr({}, file, "name", value, XattrMode::either, wcc_)); });
}

TEST_P(NameFaultsTest, what_was_just_made_is_opened_however_few_descriptors_there_are) {
  // Twice: once more than a single attempt to make room.
  const auto shortage = [](SystemFaults& faults) {
    return [&faults] {
      for (const SystemCall call : {SystemCall::openat, SystemCall::open_by_handle_at})
        for (int i = 0; i < 3; ++i) faults.add({.call = call, .error = EMFILE});
    };
  };
  const SetAttributes set = with_mode(0755);
  SystemFaults faults;
  faults.add({.call = SystemCall::mkdirat, .before = shortage(faults)});
  EXPECT_TRUE(mkdir("directory"));
  faults.clear();
  faults.add({.call = SystemCall::symlinkat, .before = shortage(faults)});
  EXPECT_TRUE(run(fs_->symlink({}, root_, "link", "target", set, wcc_)));
  faults.clear();
  faults.add({.call = SystemCall::mknodat, .before = shortage(faults)});
  EXPECT_TRUE(run(fs_->mknod({}, root_, "fifo", {FileType::fifo, {}}, set, wcc_)));
}

TEST_P(NameFaultsTest, nothing_is_made_when_there_is_no_descriptor_for_it) {
  SystemFaults faults;
  faults.add({.call = SystemCall::openat, .error = EMFILE, .nth = every});
  const auto made = mkdir("directory");
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error(), Error::delay);
  EXPECT_FALSE(there("directory"));
  EXPECT_EQ(faults.calls(SystemCall::mkdirat), 0U);
}

TEST_P(NameFaultsTest, what_was_just_made_and_cannot_be_looked_at_is_not_made_again) {
  SystemFaults faults;
  const auto blind = [&faults] { faults.add({.call = SystemCall::statx, .error = ENOMEM, .nth = every}); };
  faults.add({.call = SystemCall::mkdirat, .before = blind});
  EXPECT_EQ(mkdir("directory").error(), Error::io);
  EXPECT_TRUE(there("directory"));
}

// Whoever hears NOENT or EXIST believes that nothing was made.
TEST_P(NameFaultsTest, what_was_just_made_and_is_gone_is_stale) {
  int number = 0;
  for (const auto& said : {std::pair{ENOENT, Error::stale}, std::pair{EEXIST, Error::io}}) {
    SystemFaults faults;
    const auto blind = [&] {
      faults.add({.call = SystemCall::openat, .error = said.first, .nth = every});
      faults.add({.call = SystemCall::open_by_handle_at, .error = said.first, .nth = every});
    };
    faults.add({.call = SystemCall::mkdirat, .before = blind});
    const std::string name = "directory" + std::to_string(++number);
    EXPECT_EQ(mkdir(name).error(), said.second);
    EXPECT_TRUE(there(name));
  }
}

TEST_P(NameFaultsTest, a_change_whose_first_step_fails_may_be_made_again) {
  const FileRef file = create("file")->file;
  ASSERT_TRUE(write(file, "text"));
  SetAttributes set;
  set.size = 2;
  SystemFaults faults;
  faults.add({.call = SystemCall::ftruncate, .error = ENOMEM});
  EXPECT_EQ(setattr(file, set).error(), Error::delay);
  EXPECT_EQ(local_read("file"), "text");
}

}  // namespace
}  // namespace braid::vfs
