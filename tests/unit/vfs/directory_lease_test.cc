// Leases on directories: what is said of changes by local processes, by others who come through this server,
// and by the holder.
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <utility>

#include "bell.h"
#include "posix_fixture.h"

namespace braid::vfs {
namespace {

constexpr LeaseHolder holder{7};
constexpr LeaseHolder another{8};

Credentials who_is(LeaseHolder one) {
  Credentials out;
  out.holder = one;
  return out;
}

class DirectoryLeaseTest : public PosixTest {
 protected:
  void SetUp() override {
    PosixTest::SetUp();
    if (IsSkipped()) return;
    for (const char* path : {"dir", "dir/sub", "beside"}) ASSERT_EQ(::mkdir(local(path).c_str(), 0755), 0);
    for (const char* path : {"dir/file", "dir/second", "outside"}) local_write(path, "content");
    dir_ = find("dir");
  }
  void TearDown() override {
    held_ = {};
    dir_ = {};
    PosixTest::TearDown();
  }
  Outcome<LeaseRef> lease(const FileRef& directory, LeaseHolder whose, Bell& bell) {
    return run(fs_->lease_directory(directory, whose, bell.ring()));
  }
  void take() {
    bell_.reset();
    held_.reset();
    auto taken = lease(dir_, holder, bell_);
    ASSERT_TRUE(taken);
    held_ = std::move(*taken);
  }
  // Whether the holder has been told of anything up to now: what the kernel has said is read before and after
  // a change of its own.
  bool told() {
    EXPECT_TRUE(run(fs_->create(who_is(holder), dir_, "own", {}, wcc_)));
    EXPECT_TRUE(run(fs_->remove(who_is(holder), dir_, "own", wcc_)));
    return bell_.rung();
  }

  FileRef dir_;
  LeaseRef held_;
  Bell bell_;
};
BRAID_ON_EVERY_FILE_SYSTEM(DirectoryLeaseTest);

TEST_P(DirectoryLeaseTest, a_local_change_is_announced) {
  const auto at = [this](const char* path) { return local(path); };
  const timespec times[2] = {{7, 0}, {7, 0}};
  const std::pair<const char*, std::function<int()>> changes[] = {
      {"create", [&] { return ::mknod(at("dir/new").c_str(), S_IFREG | 0600, 0); }},
      {"mkdir", [&] { return ::mkdir(at("dir/newdir").c_str(), 0700); }},
      {"symlink", [&] { return ::symlink("target", at("dir/newlink").c_str()); }},
      {"link", [&] { return ::link(at("outside").c_str(), at("dir/newname").c_str()); }},
      {"rename within", [&] { return ::rename(at("dir/new").c_str(), at("dir/newer").c_str()); }},
      {"rename over", [&] { return ::rename(at("dir/newer").c_str(), at("dir/second").c_str()); }},
      {"rename out", [&] { return ::rename(at("dir/second").c_str(), at("second").c_str()); }},
      {"rename in", [&] { return ::rename(at("second").c_str(), at("dir/second").c_str()); }},
      {"unlink", [&] { return ::unlink(at("dir/second").c_str()); }},
      {"rmdir", [&] { return ::rmdir(at("dir/newdir").c_str()); }},
      {"chmod", [&] { return ::chmod(at("dir").c_str(), 0700); }},
      {"chown", [&] { return ::chown(at("dir").c_str(), 7, 8); }},
      {"utimes", [&] { return ::utimensat(AT_FDCWD, at("dir").c_str(), times, 0); }},
      {"setxattr", [&] { return ::setxattr(at("dir").c_str(), "user.a", "1", 1, 0); }},
      {"rename of itself", [&] { return ::rename(at("dir").c_str(), at("beside/dir").c_str()); }},
  };
  for (const auto& [what, change] : changes) {
    SCOPED_TRACE(what);
    take();
    ASSERT_EQ(change(), 0);
    EXPECT_TRUE(bell_.wait());
  }
}

// Linux says nothing of it while the directory is open.
TEST_P(DirectoryLeaseTest, its_removal_by_a_local_process_is_noticed_when_somebody_looks) {
  const FileRef sub = find("dir/sub");
  Bell bell;
  auto held = lease(sub, holder, bell);
  ASSERT_TRUE(held);
  fs_->sweep();
  EXPECT_FALSE(bell.rung());
  ASSERT_EQ(::rmdir(local("dir/sub").c_str()), 0);
  fs_->sweep();
  EXPECT_TRUE(bell.rung());
}

TEST_P(DirectoryLeaseTest, what_happens_to_the_content_of_its_files_is_not_announced) {
  take();
  local_write("dir/file", "more content");
  ASSERT_EQ(::chmod(local("dir/file").c_str(), 0600), 0);
  ASSERT_EQ(::mkdir(local("dir/sub/below").c_str(), 0700), 0);
  ASSERT_EQ(::unlink(local("outside").c_str()), 0);
  EXPECT_TRUE(write(find("dir/file"), "and more"));
  EXPECT_FALSE(told());
}

TEST_P(DirectoryLeaseTest, a_change_by_somebody_else_waits_and_one_by_the_holder_is_its_own_affair) {
  const FileRef root = fs_->root();
  const FileRef outside = find("outside");
  const CreateHow guarded{.mode = CreateHow::Mode::guarded, .attributes = {}, .verifier = {}};
  const SpecialFile fifo{.type = FileType::fifo, .device = {}};
  const std::byte value{1};
  const auto done = [](const auto& outcome) -> Outcome<> {
    if (!outcome) return base::fail(outcome.error());
    return {};
  };
  const std::pair<const char*, std::function<Outcome<>(const Credentials&)>> changes[] = {
      {"create", [&](const auto& who) { return done(run(fs_->create(who, dir_, "a", guarded, wcc_))); }},
      {"open_create",
       [&](const auto& who) {
         return done(run(fs_->open_create(who, dir_, "b", OpenAccess::read, guarded, wcc_)));
       }},
      {"mkdir", [&](const auto& who) { return done(run(fs_->mkdir(who, dir_, "c", {}, wcc_))); }},
      {"symlink", [&](const auto& who) { return done(run(fs_->symlink(who, dir_, "d", "to", {}, wcc_))); }},
      {"mknod", [&](const auto& who) { return done(run(fs_->mknod(who, dir_, "e", fifo, {}, wcc_))); }},
      {"link", [&](const auto& who) { return run(fs_->link(who, outside, dir_, "f", wcc_)); }},
      {"rename within",
       [&](const auto& who) { return run(fs_->rename(who, dir_, "a", dir_, "g", wcc_, wcc_)); }},
      {"rename over",
       [&](const auto& who) { return run(fs_->rename(who, dir_, "g", dir_, "b", wcc_, wcc_)); }},
      {"rename out",
       [&](const auto& who) { return run(fs_->rename(who, dir_, "b", root, "b", wcc_, wcc_)); }},
      {"rename in", [&](const auto& who) { return run(fs_->rename(who, root, "b", dir_, "b", wcc_, wcc_)); }},
      {"remove", [&](const auto& who) { return run(fs_->remove(who, dir_, "b", wcc_)); }},
      {"rmdir", [&](const auto& who) { return run(fs_->rmdir(who, dir_, "c", wcc_)); }},
      {"setattr",
       [&](const auto& who) { return run(fs_->setattr(who, dir_, with_mode(0700), std::nullopt, &wcc_)); }},
      {"set_xattr",
       [&](const auto& who) {
         return run(fs_->set_xattr(who, dir_, "a", {&value, 1}, XattrMode::either, wcc_));
       }},
      {"remove_xattr", [&](const auto& who) { return run(fs_->remove_xattr(who, dir_, "a", wcc_)); }},
      {"rename of itself",
       [&](const auto& who) { return run(fs_->rename(who, root, "dir", root, "moved", wcc_, wcc_)); }},
  };
  for (const auto& [what, change] : changes) {
    SCOPED_TRACE(what);
    for (const LeaseHolder other : {another, LeaseHolder{}}) {
      take();
      const auto refused = change(who_is(other));
      EXPECT_EQ(refused ? Error{} : refused.error(), Error::delay);
      EXPECT_TRUE(bell_.rung());
    }
    take();
    const auto own = change(who_is(holder));
    EXPECT_TRUE(own) << name_of(own ? Error{} : own.error());
    EXPECT_FALSE(bell_.rung()) << "the holder itself";
  }
  EXPECT_FALSE(told());
  ASSERT_EQ(::mkdir(local("moved/late").c_str(), 0700), 0);
  EXPECT_TRUE(bell_.wait()) << "but what others change is";
}

TEST_P(DirectoryLeaseTest, what_changes_nothing_concerns_nobody) {
  const FileRef root = fs_->root();
  ASSERT_EQ(::link(local("dir/file").c_str(), local("dir/same").c_str()), 0);
  const Credentials who = who_is(another);
  const CreateHow unchecked;
  take();
  EXPECT_TRUE(run(fs_->create(who, dir_, "file", unchecked, wcc_)));
  EXPECT_EQ(run(fs_->mkdir(who, dir_, "file", {}, wcc_)).error(), Error::exist);
  EXPECT_EQ(run(fs_->link(who, find("outside"), dir_, "file", wcc_)).error(), Error::exist);
  EXPECT_EQ(run(fs_->remove(who, dir_, "absent", wcc_)).error(), Error::noent);
  EXPECT_EQ(run(fs_->rename(who, dir_, "absent", dir_, "file", wcc_, wcc_)).error(), Error::noent);
  EXPECT_TRUE(run(fs_->rename(who, dir_, "file", dir_, "same", wcc_, wcc_)));
  EXPECT_TRUE(run(fs_->create(who, root, "elsewhere", unchecked, wcc_)));
  EXPECT_FALSE(told());
}

TEST_P(DirectoryLeaseTest, every_holder_is_told) {
  Bell second;
  take();
  auto theirs = lease(dir_, another, second);
  ASSERT_TRUE(theirs);
  EXPECT_EQ(run(fs_->mkdir(who_is(holder), dir_, "new", {}, wcc_)).error(), Error::delay);
  EXPECT_TRUE(second.rung());
  EXPECT_FALSE(bell_.rung());
  ASSERT_EQ(::mkdir(local("dir/new").c_str(), 0700), 0);
  EXPECT_TRUE(bell_.wait());
}

TEST_P(DirectoryLeaseTest, a_change_goes_on_when_the_lease_has_ended) {
  take();
  held_.reset();
  EXPECT_TRUE(run(fs_->mkdir({}, dir_, "new", {}, wcc_)));
  ASSERT_EQ(::rmdir(local("dir/new").c_str()), 0);
  take();
  EXPECT_FALSE(told());
}

TEST_P(DirectoryLeaseTest, a_directory_that_its_holder_removes_can_be_named_until_the_lease_ends) {
  FileRef sub = find("dir/sub");
  const FileHandle handle = sub->handle();
  Bell bell;
  auto held = lease(sub, holder, bell);
  ASSERT_TRUE(held);
  sub = {};
  EXPECT_EQ(run(fs_->rmdir(who_is(another), dir_, "sub", wcc_)).error(), Error::delay);
  held->reset();
  Bell again;
  held = lease(find("dir/sub"), holder, again);
  ASSERT_TRUE(held);
  EXPECT_TRUE(run(fs_->rmdir(who_is(holder), dir_, "sub", wcc_)));
  EXPECT_TRUE(again.rung());
  {
    const auto found = run(fs_->resolve(handle.view()));
    ASSERT_TRUE(found);
    EXPECT_TRUE(run(fs_->getattr(*found)));
  }
  held->reset();
  EXPECT_EQ(run(fs_->resolve(handle.view())).error(), Error::stale);
}

TEST_P(DirectoryLeaseTest, keeps_its_directory_and_its_file_system) {
  take();
  const FileHandle handle = dir_->handle();
  dir_ = {};
  EXPECT_EQ(held_->file()->handle(), handle);
  const std::weak_ptr<PosixFileSystem> export_of = fs_;
  root_ = {};
  fs_.reset();
  ASSERT_EQ(::mkdir(local("dir/new").c_str(), 0700), 0);
  EXPECT_TRUE(bell_.wait());
  held_.reset();
  EXPECT_TRUE(export_of.expired());
}

TEST_P(DirectoryLeaseTest, is_for_directories) {
  Bell bell;
  EXPECT_EQ(lease(find("dir/file"), holder, bell).error(), Error::notdir);
  const FileRef sub = find("dir/sub");
  ASSERT_EQ(::rmdir(local("dir/sub").c_str()), 0);
  EXPECT_EQ(lease(sub, holder, bell).error(), Error::stale);
}

}  // namespace
}  // namespace braid::vfs
