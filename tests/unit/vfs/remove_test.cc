// REMOVE and RMDIR.
#include <sys/stat.h>

#include "posix_fixture.h"

namespace braid::vfs {
namespace {

class RemoveTest : public PosixTest {
 protected:
  Outcome<> rmdir(std::string_view name, const Credentials& who = {}) {
    return run(fs_->rmdir(who, root_, name, wcc_));
  }
};
BRAID_ON_EVERY_FILE_SYSTEM(RemoveTest);

TEST_P(RemoveTest, a_removed_file_is_stale) {
  const FileRef file = create("file")->file;
  ASSERT_TRUE(remove("file"));
  EXPECT_EQ(lookup(root_, "file").error(), Error::noent);
  EXPECT_EQ(run(fs_->getattr(file)).error(), Error::stale);
  EXPECT_EQ(run(fs_->resolve(file->handle().view())).error(), Error::stale);
  EXPECT_EQ(remove("file").error(), Error::noent);
}

TEST_P(RemoveTest, a_file_with_another_name_lives_on) {
  const FileRef file = create("file")->file;
  ASSERT_EQ(::link(local("file").c_str(), local("other").c_str()), 0);
  ASSERT_TRUE(remove("file"));
  EXPECT_EQ(attributes(file).nlink, 1U);
  EXPECT_EQ(run(fs_->resolve(file->handle().view())).value().get(), file.get());
}

TEST_P(RemoveTest, a_link_is_removed_and_not_its_target) {
  local_write("target", "text");
  ASSERT_EQ(::symlink("target", local("link").c_str()), 0);
  ASSERT_TRUE(remove("link"));
  EXPECT_EQ(local_read("target"), "text");
}

TEST_P(RemoveTest, files_and_directories_have_a_procedure_each) {
  ASSERT_TRUE(create("file"));
  ASSERT_TRUE(mkdir("dir"));
  EXPECT_EQ(remove("dir").error(), Error::isdir);
  EXPECT_EQ(rmdir("file").error(), Error::notdir);
  EXPECT_TRUE(rmdir("dir"));
  EXPECT_TRUE(remove("file"));
}

TEST_P(RemoveTest, only_an_empty_directory_goes) {
  const FileRef dir = mkdir("dir")->file;
  local_write("dir/file", "x");
  EXPECT_EQ(rmdir("dir").error(), Error::notempty);
  ASSERT_EQ(::unlink(local("dir/file").c_str()), 0);
  EXPECT_TRUE(rmdir("dir"));
  EXPECT_EQ(run(fs_->getattr(dir)).error(), Error::stale);
  EXPECT_EQ(lookup(dir, "..").error(), Error::stale);
}

TEST_P(RemoveTest, dots_are_refused) {
  EXPECT_EQ(rmdir(".").error(), Error::inval);
  EXPECT_EQ(rmdir("..").error(), Error::exist);
  EXPECT_TRUE(wcc_.after);
  EXPECT_EQ(remove(".").error(), Error::inval);
  EXPECT_EQ(remove("..").error(), Error::inval);
  EXPECT_EQ(remove("a/b").error(), Error::inval);
}

TEST_P(RemoveTest, the_directory_decides_who_may_remove) {
  ASSERT_TRUE(create("file", 0777));
  EXPECT_EQ(remove("file", user(1001, 1001)).error(), Error::acces);
  ASSERT_EQ(::chmod(local().c_str(), 01777), 0);
  EXPECT_EQ(remove("file", user(1001, 1001)).error(), Error::perm) << "sticky";
  ASSERT_EQ(::chmod(local().c_str(), 0777), 0);
  EXPECT_TRUE(remove("file", user(1001, 1001)));
}

TEST_P(RemoveTest, a_read_only_export_refuses) {
  local_write("file", "x");
  options_.tree.read_only = true;
  restart();
  EXPECT_EQ(remove("file").error(), Error::rofs);
  EXPECT_EQ(rmdir("file").error(), Error::rofs);
}

}  // namespace
}  // namespace braid::vfs
