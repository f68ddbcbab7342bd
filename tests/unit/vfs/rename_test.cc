#include <sys/stat.h>

#include "posix_fixture.h"

namespace braid::vfs {
namespace {

class RenameTest : public PosixTest {
 protected:
  Outcome<> rename(const FileRef& from, std::string_view from_name, const FileRef& to,
                   std::string_view to_name, const Credentials& who = {}) {
    return run(fs_->rename(who, from, from_name, to, to_name, wcc_, to_wcc_));
  }

  Wcc to_wcc_;
};
BRAID_ON_EVERY_FILE_SYSTEM(RenameTest);

TEST_P(RenameTest, the_object_keeps_its_handle) {
  const FileRef file = create("file")->file;
  const FileRef dir = mkdir("dir")->file;
  ASSERT_TRUE(rename(root_, "file", dir, "moved"));
  EXPECT_EQ(lookup(root_, "file").error(), Error::noent);
  EXPECT_EQ(lookup(dir, "moved")->file.get(), file.get());
  EXPECT_TRUE(wcc_.before && wcc_.after && to_wcc_.before && to_wcc_.after);
  EXPECT_EQ(wcc_.after->fileid, attributes(root_).fileid);
  EXPECT_EQ(to_wcc_.after->fileid, attributes(dir).fileid);
}

TEST_P(RenameTest, within_a_directory_both_sides_report_the_same_change) {
  ASSERT_TRUE(create("a"));
  ASSERT_TRUE(rename(root_, "a", root_, "b"));
  ASSERT_TRUE(wcc_.before && to_wcc_.before);
  EXPECT_EQ(wcc_.before->ctime, to_wcc_.before->ctime);
  EXPECT_EQ(wcc_.after->ctime, to_wcc_.after->ctime);
}

TEST_P(RenameTest, what_had_the_name_is_gone) {
  const FileRef victim = create("victim")->file;
  const FileRef file = create("file")->file;
  ASSERT_TRUE(rename(root_, "file", root_, "victim"));
  EXPECT_EQ(run(fs_->getattr(victim)).error(), Error::stale);
  EXPECT_EQ(lookup(root_, "victim")->file.get(), file.get());
}

TEST_P(RenameTest, an_empty_directory_can_be_replaced_by_another) {
  ASSERT_TRUE(mkdir("a"));
  const FileRef b = mkdir("b")->file;
  ASSERT_TRUE(rename(root_, "a", root_, "b"));
  EXPECT_EQ(run(fs_->getattr(b)).error(), Error::stale);
  ASSERT_TRUE(mkdir("c"));
  local_write("c/file", "x");
  const auto over_full = rename(root_, "b", root_, "c");
  ASSERT_FALSE(over_full);
  EXPECT_EQ(over_full.error(), GetParam() == "xfs" ? Error::exist : Error::notempty);
}

TEST_P(RenameTest, types_do_not_mix) {
  ASSERT_TRUE(create("file"));
  ASSERT_TRUE(mkdir("dir"));
  EXPECT_EQ(rename(root_, "file", root_, "dir").error(), Error::isdir);
  EXPECT_EQ(rename(root_, "dir", root_, "file").error(), Error::notdir);
}

TEST_P(RenameTest, two_names_of_one_file_both_stay) {
  const FileRef file = create("a")->file;
  ASSERT_EQ(::link(local("a").c_str(), local("b").c_str()), 0);
  ASSERT_TRUE(rename(root_, "a", root_, "b"));
  EXPECT_EQ(attributes(file).nlink, 2U);
  ASSERT_TRUE(wcc_.before && wcc_.after);
  EXPECT_EQ(wcc_.before->change, wcc_.after->change);
  ASSERT_TRUE(rename(root_, "a", root_, "a"));
  ASSERT_TRUE(wcc_.before && wcc_.after);
  EXPECT_EQ(wcc_.before->change, wcc_.after->change);
}

TEST_P(RenameTest, a_directory_does_not_go_into_itself) {
  const FileRef dir = mkdir("dir")->file;
  EXPECT_EQ(rename(root_, "dir", dir, "inside").error(), Error::inval);
}

TEST_P(RenameTest, a_moved_directory_has_a_new_parent) {
  const FileRef a = mkdir("a")->file;
  const FileRef b = mkdir("b")->file;
  ASSERT_TRUE(rename(root_, "b", a, "b"));
  EXPECT_EQ(lookup(b, "..")->file.get(), a.get());
}

TEST_P(RenameTest, bad_names_and_missing_files_are_refused) {
  ASSERT_TRUE(create("file"));
  EXPECT_EQ(rename(root_, "none", root_, "b").error(), Error::noent);
  EXPECT_EQ(rename(root_, ".", root_, "b").error(), Error::inval);
  EXPECT_EQ(rename(root_, "file", root_, "..").error(), Error::inval);
  EXPECT_EQ(rename(root_, "file", root_, "x/y").error(), Error::inval);
  EXPECT_TRUE(wcc_.after && to_wcc_.after);
}

TEST_P(RenameTest, both_directories_must_be_writable) {
  ASSERT_TRUE(create("file", 0666));
  const FileRef mine = mkdir("mine", 0777)->file;
  const Credentials who = user(1001, 1001);
  EXPECT_EQ(rename(root_, "file", mine, "file", who).error(), Error::acces);
  local_write("mine/own", "x");
  EXPECT_EQ(rename(mine, "own", root_, "own", who).error(), Error::acces);
  EXPECT_TRUE(rename(mine, "own", mine, "other", who));
}

}  // namespace
}  // namespace braid::vfs
