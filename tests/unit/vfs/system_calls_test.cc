// How many system calls the content of a file costs.
#include "content_fixture.h"
#include "posix_fixture.h"
#include "sandbox.h"
#include "system_faults.h"
#include "vfs/posix/export_root.h"

namespace braid::vfs {
namespace {

using test::SystemCall;
using test::SystemFaults;

class SystemCallsTest : public PosixTest {};
BRAID_ON_EVERY_FILE_SYSTEM(SystemCallsTest);

TEST_P(SystemCallsTest, to_borrow_a_file_costs_no_system_call) {
  const auto file = create("file")->file;
  const Credentials who;
  const SystemFaults faults;
  {
    const Borrowed lent = fs_->borrow(who, file);
    EXPECT_EQ(lent->file().get(), file.get());
  }
  for (const SystemCall call :
       {SystemCall::open, SystemCall::openat, SystemCall::open_by_handle_at, SystemCall::statx})
    EXPECT_EQ(faults.calls(call), 0U);
}

TEST_P(SystemCallsTest, what_nobody_asks_for_is_not_looked_at) {
  const FileRef file = create("file")->file;
  const Credentials who;
  const SetAttributes set = with_mode(0600);
  SystemFaults faults;
  const auto looks_of = [&](auto change) {
    faults.clear();
    EXPECT_TRUE(run(change()));
    return faults.calls(SystemCall::statx);
  };
  const Borrowed lent = fs_->borrow(who, file);
  EXPECT_EQ(looks_of([&] { return fs_->setattr(who, file, set, std::nullopt, &wcc_); }), 2U);
  EXPECT_EQ(looks_of([&] { return fs_->setattr(who, file, set, std::nullopt, nullptr); }), 1U);
  EXPECT_EQ(looks_of([&] { return lent->commit(who, 0, 0, &wcc_); }), 2U);
  EXPECT_EQ(looks_of([&] { return lent->commit(who, 0, 0); }), 1U);
}

TEST_P(SystemCallsTest, what_was_written_through_an_open_is_committed_through_it) {
  const FileRef file = create("file")->file;
  const auto reader = run(fs_->open({}, file, OpenAccess::read, OpenRule::caller)).value();
  const auto writer = run(fs_->open({}, file, OpenAccess::write, OpenRule::caller)).value();
  const io::Payload data = payload("text");
  const auto written = run(writer->write({}, 0, data, Stability::unstable));
  ASSERT_TRUE(written);
  const SystemFaults faults;
  EXPECT_EQ(run(reader->commit({}, 0, 0)).error(), Error::acces);
  EXPECT_EQ(run(writer->commit({}, 0, 0)), written->verifier);
  EXPECT_EQ(faults.calls(SystemCall::fsync), GetParam() == "tmpfs" ? 0U : 1U);
}

class ContentCallsTest : public ContentFixture {};
BRAID_ON_EVERY_FILE_SYSTEM(ContentCallsTest);

TEST_P(ContentCallsTest, nobody_looks_for_the_record_of_a_file_that_was_just_made) {
  CreateHow how;
  how.attributes = with_mode(0600);
  const auto looks_of = [this, &how](std::string_view name, bool opens) {
    const SystemFaults faults;
    if (opens)
      EXPECT_TRUE(run(fs_->open_create({}, root_, name, OpenAccess::both, how, wcc_)));
    else
      EXPECT_TRUE(run(fs_->create({}, root_, name, how, wcc_)));
    return std::pair(faults.calls(SystemCall::getxattr), faults.calls(SystemCall::statx));
  };
  const auto created = looks_of("created", false);
  const auto opened = looks_of("opened", true);
  file_ = {};
  options_.sources.clear();
  restart();
  EXPECT_EQ(looks_of("created without", false), created);
  EXPECT_EQ(looks_of("opened without", true), opened);
}

// The client would repeat the CREATE, and find its own file.
TEST_P(ContentCallsTest, a_size_that_fails_after_its_file_was_made_is_no_delay) {
  CreateHow how;
  how.attributes.size = 3;
  SystemFaults faults;
  faults.add({.call = SystemCall::ftruncate, .error = ENOMEM, .nth = test::every});
  EXPECT_EQ(run(fs_->create({}, root_, "created", how, wcc_)).error(), Error::io);
  EXPECT_EQ(run(fs_->open_create({}, root_, "opened", OpenAccess::both, how, wcc_)).error(), Error::io);
}

// What clients know an export by must survive an update of the kernel: Linux 6.9 tells the UUID of every file
// system by one call.
TEST(FileSystemId, does_not_depend_on_what_newer_kernels_tell) {
  constexpr unsigned long get_fs_uuid = 0x80111500;
  for (const std::string& kind : file_system_kinds()) {
    SCOPED_TRACE(kind);
    const auto at = mounted(kind);
    if (!at || kind == "tmpfs") continue;
    SystemFaults faults;
    const auto now = posix::open_export_root(*at, {});
    faults.refuse_ioctl(get_fs_uuid);
    const auto before = posix::open_export_root(*at, {});
    ASSERT_TRUE(now && before);
    EXPECT_EQ(now->filesystem, before->filesystem);
  }
}

}  // namespace
}  // namespace braid::vfs
