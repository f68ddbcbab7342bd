// Without root's rights: handles of the process, one identity for everybody. And root on file systems without
// handles.
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <optional>

#include "posix_fixture.h"

namespace braid::vfs {
namespace {

constexpr unsigned server_uid = 1005;

// The body of each test runs as an ordinary user, in a process of its own when the tests run as root.
class RestrictedTest : public PosixFixture {
 protected:
  void SetUp() override {
    std::string mount = testing::TempDir();
    if (::geteuid() == 0) {
      const auto tmpfs = mounted("tmpfs");
      ASSERT_TRUE(tmpfs) << tmpfs.error();
      mount = *tmpfs;
    }
    start(mount);
    ASSERT_EQ(::chown(local().c_str(), ::geteuid() == 0 ? server_uid : ::geteuid(), static_cast<gid_t>(-1)),
              0);
    root_ = {};
    fs_.reset();
  }
  template <class F>
  void as_user(F body) {
    EXPECT_TRUE(holds_as_user(server_uid, server_uid, [&] {
      restart();
      body();
    }));
  }
  Outcome<FileRef> resolve(const FileHandle& handle) { return run(fs_->resolve(handle.view())); }
  // Closes every descriptor; of files, the test holds none.
  void forget_descriptors() {
    fs_->sweep();
    ASSERT_EQ(fs_->stats().cache.descriptors, 1U) << "the root stays";
  }
};

TEST_F(RestrictedTest, it_says_what_does_not_work) {
  as_user([&] {
    EXPECT_NE(fs_->restricted().find("rights of user"), std::string::npos);
    EXPECT_NE(fs_->restricted().find("only as long as this process"), std::string::npos);
  });
}

TEST_F(RestrictedTest, everybody_acts_as_the_server_s_user) {
  as_user([&] {
    const Found made = create("file", 0640, user(0)).value();
    EXPECT_EQ(made.attributes.uid, ::geteuid());
    EXPECT_TRUE(write(made.file, "text", 0, user(4242)));
    EXPECT_EQ(read(made.file, 0, 10, user(7)), "text");
    Wcc other;
    EXPECT_TRUE(run(fs_->rename(user(9), root_, "file", root_, "moved", wcc_, other)));
    EXPECT_TRUE(run(fs_->link(user(9), made.file, root_, "second", wcc_)));
    EXPECT_TRUE(setattr(made.file, with_mode(0600), user(8)));
    EXPECT_EQ(list(root_, 10).size(), 4U);
    EXPECT_TRUE(remove("moved"));
    EXPECT_EQ(read(find("second")), "text");
  });
}

TEST_F(RestrictedTest, what_the_user_may_not_read_stays_closed) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs a file of another user";
  local_write("secret", "x");
  ASSERT_EQ(::chmod(local("secret").c_str(), 0600), 0);
  as_user([&] {
    const FileRef file = find("secret");
    EXPECT_EQ(read(file, 0, 10, user(0)).error(), Error::acces);
    EXPECT_EQ(write(file, "y", 0, user(0)).error(), Error::acces);
    std::optional<Attributes> now;
    EXPECT_EQ(run(fs_->access(user(0), file, 0x3f, now)), 0U);
  });
}

TEST_F(RestrictedTest, a_handle_lasts_as_long_as_the_process) {
  options_.tree.cache.idle_max = {};
  as_user([&] {
    ASSERT_EQ(::mkdir(local("a").c_str(), 0755), 0);
    ASSERT_EQ(::mkdir(local("a/b").c_str(), 0755), 0);
    local_write("a/b/file", "text");
    const FileHandle handle = find("a/b/file")->handle();
    forget_descriptors();
    EXPECT_EQ(read(resolve(handle).value()), "text");
    EXPECT_EQ(lookup(find("a/b"), "..")->file.get(), find("a").get());
    const FileHandle directory = find("a/b")->handle();
    ASSERT_EQ(::rename(local("a/b/file").c_str(), local("a/b/elsewhere").c_str()), 0);
    forget_descriptors();
    EXPECT_EQ(resolve(handle).error(), Error::stale) << "moved behind our back";
    Wcc other;
    const auto moved = run(fs_->rename({}, find("a"), "b", root_, "c", wcc_, other));
    ASSERT_TRUE(moved) << name_of(moved.error());
    forget_descriptors();
    EXPECT_EQ(resolve(directory)->get(), find("c").get()) << "moved by us";
    restart();
    EXPECT_EQ(resolve(directory).error(), Error::stale);
  });
}

TEST_F(RestrictedTest, another_file_of_the_same_name_is_not_the_same_file) {
  options_.tree.cache.idle_max = {};
  as_user([&] {
    local_write("file", "old");
    const FileHandle handle = find("file")->handle();
    forget_descriptors();
    local_write("new", "new");
    ASSERT_EQ(::rename(local("new").c_str(), local("file").c_str()), 0);
    EXPECT_EQ(resolve(handle).error(), Error::stale);
    EXPECT_EQ(read(find("file")), "new");
  });
}

TEST_F(RestrictedTest, a_listing_leads_to_the_files) {
  as_user([&] {
    local_write("file", "text");
    std::optional<FileHandle> handle;
    const ReadDirectoryRequest request{.cookie = 0, .plus = true};
    const EntrySink sink = [&](const DirectoryEntry& entry) {
      if (entry.name == "file") handle = entry.handle;
      return true;
    };
    ASSERT_TRUE(run(fs_->readdir({}, root_, request, sink)));
    ASSERT_TRUE(handle);
    EXPECT_EQ(read(resolve(*handle).value()), "text");
  });
}

TEST_F(RestrictedTest, mounts_and_links_lead_nowhere) {
  if (::geteuid() != 0) GTEST_SKIP() << "mounting needs root";
  ASSERT_EQ(::mkdir(local("point").c_str(), 0755), 0);
  ASSERT_EQ(::mount("tmpfs", local("point").c_str(), "tmpfs", 0, nullptr), 0);
  ASSERT_EQ(::symlink("/", local("out").c_str()), 0);
  as_user([&] {
    EXPECT_EQ(lookup(root_, "point").error(), Error::acces);
    EXPECT_EQ(lookup(find("out"), "etc").error(), Error::notdir);
    EXPECT_EQ(lookup(root_, "..")->file.get(), root_.get());
  });
  ASSERT_EQ(::umount(local("point").c_str()), 0);
}

TEST_F(RestrictedTest, dot_dot_is_the_directory_that_led_here_even_after_a_local_move) {
  as_user([&] {
    ASSERT_EQ(::mkdir(local("a").c_str(), 0755), 0);
    ASSERT_EQ(::mkdir(local("a/b").c_str(), 0755), 0);
    const FileRef b = find("a/b");
    ASSERT_EQ(::rename(local("a/b").c_str(), local("b").c_str()), 0);
    EXPECT_EQ(lookup(b, "..")->file.get(), find("a").get());
    EXPECT_EQ(find("b").get(), b.get());
    EXPECT_EQ(lookup(b, "..")->file.get(), root_.get());
  });
}

class OverlayTest : public PosixFixture {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "mounting needs root";
    const auto tmpfs = mount_tmpfs("size=64m");
    ASSERT_TRUE(tmpfs) << tmpfs.error();
    for (const char* name : {"/lower", "/upper", "/work", "/merged"})
      ASSERT_EQ(::mkdir((*tmpfs + name).c_str(), 0755), 0);
    const std::string layers =
        "lowerdir=" + *tmpfs + "/lower,upperdir=" + *tmpfs + "/upper,workdir=" + *tmpfs + "/work";
    if (::mount("overlay", (*tmpfs + "/merged").c_str(), "overlay", 0, layers.c_str()) != 0)
      GTEST_SKIP() << "no overlay file system";
    start(*tmpfs + "/merged");
  }
};

TEST_F(OverlayTest, without_kernel_handles_root_still_switches_identities) {
  EXPECT_NE(fs_->restricted().find("only as long as this process"), std::string::npos);
  EXPECT_EQ(fs_->restricted().find("rights of user"), std::string::npos);
  ASSERT_EQ(::chmod(local().c_str(), 0777), 0);
  const Found made = create("file", 0600, user(1001, 1002)).value();
  EXPECT_EQ(made.attributes.uid, 1001U);
  EXPECT_TRUE(write(made.file, "text", 0, user(1001, 1002)));
  EXPECT_EQ(read(made.file, 0, 10, user(1003)).error(), Error::acces);
  const FileHandle handle = made.file->handle();
  EXPECT_EQ(read(run(fs_->resolve(handle.view())).value()), "text");
  restart();
  EXPECT_EQ(run(fs_->resolve(handle.view())).error(), Error::stale);
  EXPECT_EQ(read(find("file")), "text");
}

TEST_F(OverlayTest, listing_while_removing_loses_and_repeats_nothing) {
  for (int i = 0; i < 500; ++i) local_write("file" + std::to_string(i), "");
  std::set<std::string> seen;
  ReadDirectoryRequest request;
  for (bool end = false; !end;) {
    std::vector<std::string> batch;
    const EntrySink sink = [&](const DirectoryEntry& entry) {
      if (batch.size() == 20) return false;
      batch.emplace_back(entry.name);
      request.cookie = entry.cookie;
      return true;
    };
    end = run(fs_->readdir({}, root_, request, sink)).value();
    for (const std::string& name : batch) {
      EXPECT_TRUE(seen.insert(name).second) << name;
      if (!name.starts_with("file")) continue;
      EXPECT_TRUE(remove(name));
    }
  }
  EXPECT_EQ(seen.size(), 502U);
}

}  // namespace
}  // namespace braid::vfs
