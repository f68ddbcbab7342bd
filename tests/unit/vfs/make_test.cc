// MKDIR, SYMLINK, MKNOD and READLINK.
#include <sys/stat.h>

#include "posix_fixture.h"

namespace braid::vfs {
namespace {

class MakeTest : public PosixTest {
 protected:
  Outcome<Found> symlink(std::string_view name, std::string_view target, const Credentials& who = {}) {
    return run(fs_->symlink(who, root_, name, target, set_, wcc_));
  }
  Outcome<Found> mknod(std::string_view name, const SpecialFile& special, const Credentials& who = {}) {
    return run(fs_->mknod(who, root_, name, special, set_, wcc_));
  }
  Outcome<std::string> readlink(const FileRef& link) {
    const auto got = run(fs_->readlink({}, link));
    if (!got) return base::fail(got.error());
    std::string text(got->size(), '\0');
    got->in_memory().value().copy_to(0, std::as_writable_bytes(std::span(text)));
    return text;
  }

  SetAttributes set_ = with_mode(0644);
};
BRAID_ON_EVERY_FILE_SYSTEM(MakeTest);

TEST_P(MakeTest, a_directory_can_be_used_at_once) {
  const auto dir = mkdir("dir", 01777);
  ASSERT_TRUE(dir);
  EXPECT_EQ(dir->attributes.type, FileType::directory);
  EXPECT_EQ(dir->attributes.mode, 01777U);
  const CreateHow how{CreateHow::Mode::guarded, with_mode(0600), {}};
  EXPECT_TRUE(run(fs_->create(user(1001, 1001), dir->file, "file", how, wcc_)));
  EXPECT_EQ(mkdir("dir").error(), Error::exist);
}

TEST_P(MakeTest, a_set_gid_directory_makes_set_gid_directories) {
  ASSERT_EQ(::chown(local().c_str(), 0, 4711), 0);
  ASSERT_EQ(::chmod(local().c_str(), 02777), 0);
  const auto dir = mkdir("dir", 0755, user(1001, 1002));
  ASSERT_TRUE(dir);
  EXPECT_EQ(dir->attributes.mode, 02755U);
  EXPECT_EQ(dir->attributes.gid, 4711U);
}

TEST_P(MakeTest, a_link_keeps_its_target_byte_by_byte) {
  const std::string target = "../../somewhere/\xff else";
  const auto link = symlink("link", target);
  ASSERT_TRUE(link);
  EXPECT_EQ(link->attributes.type, FileType::symlink);
  EXPECT_EQ(readlink(link->file), target);
  const std::string longest(1000, 't');
  EXPECT_EQ(readlink(symlink("longest", longest)->file), longest);
}

TEST_P(MakeTest, a_new_link_takes_times_and_root_s_owners) {
  set_.uid = 12;
  set_.mtime = {SetTime::How::client, {1000, 0}};
  const auto link = symlink("link", "t");
  ASSERT_TRUE(link);
  EXPECT_EQ(link->attributes.uid, 12U);
  EXPECT_EQ(link->attributes.mtime, (Time{1000, 0}));
}

TEST_P(MakeTest, impossible_targets_are_refused) {
  EXPECT_EQ(symlink("link", std::string(4096, 't')).error(), Error::nametoolong);
  EXPECT_EQ(symlink("link", std::string_view("a\0b", 3)).error(), Error::inval);
  EXPECT_EQ(lookup(root_, "link").error(), Error::noent);
}

TEST_P(MakeTest, only_links_have_a_target) {
  EXPECT_EQ(readlink(root_).error(), Error::inval);
  EXPECT_EQ(readlink(create("file")->file).error(), Error::inval);
}

TEST_P(MakeTest, special_files_keep_type_and_numbers) {
  EXPECT_EQ(mknod("fifo", {FileType::fifo, {}})->attributes.type, FileType::fifo);
  EXPECT_EQ(mknod("socket", {FileType::socket, {}})->attributes.type, FileType::socket);
  const auto device = mknod("device", {FileType::character_device, {259, 70000}});
  ASSERT_TRUE(device);
  EXPECT_EQ(device->attributes.type, FileType::character_device);
  EXPECT_EQ(device->attributes.rdev.major, 259U);
  EXPECT_EQ(device->attributes.rdev.minor, 70000U);
  EXPECT_EQ(mknod("block", {FileType::block_device, {7, 8}})->attributes.type, FileType::block_device);
}

TEST_P(MakeTest, devices_are_for_root) {
  ASSERT_EQ(::chmod(local().c_str(), 0777), 0);
  EXPECT_EQ(mknod("device", {FileType::character_device, {1, 3}}, user(1001, 1001)).error(), Error::perm);
  EXPECT_TRUE(mknod("fifo", {FileType::fifo, {}}, user(1001, 1001)));
}

TEST_P(MakeTest, mknod_makes_no_files_and_directories) {
  EXPECT_EQ(mknod("file", {FileType::regular, {}}).error(), Error::inval);
  EXPECT_EQ(mknod("dir", {FileType::directory, {}}).error(), Error::inval);
}

TEST_P(MakeTest, a_special_file_is_never_opened) {
  // Opening the reading end of a fifo would wait for a writer.
  const auto fifo = mknod("fifo", {FileType::fifo, {}});
  EXPECT_EQ(read(fifo->file).error(), Error::inval);
  EXPECT_EQ(write(fifo->file, "x").error(), Error::inval);
}

}  // namespace
}  // namespace braid::vfs
