#include <sys/stat.h>

#include "posix_fixture.h"

namespace braid::vfs {
namespace {

class LinkTest : public PosixTest {
 protected:
  Outcome<> link(const FileRef& file, std::string_view name, const Credentials& who = {}) {
    return run(fs_->link(who, file, root_, name, wcc_));
  }
};
BRAID_ON_EVERY_FILE_SYSTEM(LinkTest);

TEST_P(LinkTest, both_names_lead_to_one_file) {
  const FileRef file = create("file")->file;
  ASSERT_TRUE(link(file, "other"));
  EXPECT_EQ(lookup(root_, "other")->file.get(), file.get());
  EXPECT_EQ(attributes(file).nlink, 2U);
  EXPECT_TRUE(wcc_.before && wcc_.after);
}

TEST_P(LinkTest, an_ordinary_user_may_link_what_is_his) {
  ASSERT_EQ(::chmod(local().c_str(), 0777), 0);
  const Credentials who = user(1001, 1001);
  const FileRef file = create("file", 0600, who)->file;
  EXPECT_TRUE(link(file, "other", who));
  EXPECT_EQ(attributes(file).nlink, 2U);
}

// Whatever fs.protected_hardlinks of this host says: it protects files that their user may not write.
TEST_P(LinkTest, an_ordinary_user_may_link_what_is_not_his) {
  ASSERT_EQ(::chmod(local().c_str(), 0777), 0);
  const FileRef file = create("file", 0600)->file;
  const auto linked = link(file, "other", user(1001, 1001));
  EXPECT_TRUE(linked) << name_of(linked.error());
  EXPECT_EQ(attributes(file).nlink, 2U);
  EXPECT_EQ(attributes(file).uid, 0U);
  const FileRef dir = mkdir("dir")->file;
  EXPECT_EQ(link(dir, "second", user(1001, 1001)).error(), Error::perm);
}

TEST_P(LinkTest, the_directory_must_be_writable) {
  const FileRef dir = mkdir("dir", 0777)->file;
  const Credentials who = user(1001, 1001);
  const CreateHow how{CreateHow::Mode::guarded, with_mode(0600), {}};
  const FileRef file = run(fs_->create(who, dir, "file", how, wcc_))->file;
  EXPECT_EQ(link(file, "other", who).error(), Error::acces);
}

TEST_P(LinkTest, a_symbolic_link_itself_gets_the_name) {
  local_write("target", "x");
  ASSERT_EQ(::symlink("target", local("symbolic").c_str()), 0);
  ASSERT_EQ(::lchown(local("symbolic").c_str(), 1001, 1001), 0);
  ASSERT_EQ(::chmod(local().c_str(), 0777), 0);
  ASSERT_TRUE(link(find("symbolic"), "by_root"));
  EXPECT_EQ(attributes(find("by_root")).type, FileType::symlink);
  const auto by_owner = link(find("symbolic"), "by_owner", user(1001, 1001));
  EXPECT_TRUE(by_owner) << name_of(by_owner.error());
  EXPECT_EQ(attributes(find("by_owner")).type, FileType::symlink);
}

TEST_P(LinkTest, impossible_links_are_refused) {
  const FileRef file = create("file")->file;
  const FileRef dir = mkdir("dir")->file;
  EXPECT_EQ(link(file, "file").error(), Error::exist);
  EXPECT_EQ(link(file, ".").error(), Error::exist);
  EXPECT_EQ(link(dir, "second").error(), Error::perm);
  EXPECT_EQ(run(fs_->link({}, file, file, "name", wcc_)).error(), Error::notdir);
  ASSERT_EQ(::unlink(local("file").c_str()), 0);
  EXPECT_EQ(link(file, "reborn").error(), Error::stale);
}

}  // namespace
}  // namespace braid::vfs
