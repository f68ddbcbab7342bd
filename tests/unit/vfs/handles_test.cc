// File handles: what they outlive, what they do not lead to.
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "posix_fixture.h"

namespace braid::vfs {
namespace {

class HandlesTest : public PosixTest {
 protected:
  Outcome<FileRef> resolve(const FileHandle& handle) { return run(fs_->resolve(handle.view())); }
};
BRAID_ON_EVERY_FILE_SYSTEM(HandlesTest);

TEST_P(HandlesTest, nothing_is_restricted_for_root) { EXPECT_EQ(fs_->restricted(), ""); }

TEST_P(HandlesTest, handles_outlive_the_process) {
  const FileRef file = create("file")->file;
  ASSERT_TRUE(write(file, "text"));
  const FileRef dir = mkdir("dir")->file;
  const FileHandle handles[] = {root_->handle(), file->handle(), dir->handle()};
  const Attributes before[] = {attributes(root_), attributes(file), attributes(dir)};
  restart();
  for (int i = 0; i < 3; ++i) {
    const FileRef again = resolve(handles[i]).value();
    EXPECT_EQ(again->handle(), handles[i]);
    EXPECT_EQ(attributes(again).fileid, before[i].fileid);
    EXPECT_EQ(attributes(again).fsid, before[i].fsid);
  }
  EXPECT_EQ(resolve(handles[0])->get(), root_.get());
  EXPECT_EQ(read(resolve(handles[1]).value()), "text");
}

TEST_P(HandlesTest, a_handle_survives_renaming) {
  const FileHandle handle = create("file")->file->handle();
  ASSERT_TRUE(mkdir("dir"));
  ASSERT_EQ(::rename(local("file").c_str(), local("dir/other").c_str()), 0);
  restart();
  EXPECT_EQ(resolve(handle)->get(), find("dir/other").get());
}

TEST_P(HandlesTest, one_object_per_handle) {
  const FileRef made = create("file")->file;
  EXPECT_EQ(find("file").get(), made.get());
  EXPECT_EQ(resolve(made->handle())->get(), made.get());
}

TEST_P(HandlesTest, a_removed_file_is_stale_after_a_restart_too) {
  const FileHandle handle = create("file")->file->handle();
  restart();
  ASSERT_EQ(::unlink(local("file").c_str()), 0);
  EXPECT_EQ(resolve(handle).error(), Error::stale);
}

TEST_P(HandlesTest, a_new_file_with_an_old_inode_number_is_not_the_old_file) {
  const FileHandle old = create("file0")->file->handle();
  const std::uint64_t fileid = attributes(find("file0")).fileid;
  ASSERT_TRUE(remove("file0"));
  for (int i = 1; i < 50; ++i) {
    const Found made = create("file" + std::to_string(i)).value();
    EXPECT_FALSE(made.file->handle() == old);
    if (made.attributes.fileid == fileid) break;
  }
  EXPECT_EQ(resolve(old).error(), Error::stale);
}

TEST_P(HandlesTest, a_forged_handle_is_no_handle) {
  const FileHandle good = create("file")->file->handle();
  for (std::size_t byte = 0; byte < good.size; ++byte) {
    FileHandle forged = good;
    forged.bytes[byte] ^= std::byte{0x10};
    EXPECT_EQ(resolve(forged).error(), Error::badhandle) << byte;
  }
  FileHandle shorter = good;
  --shorter.size;
  EXPECT_EQ(resolve(shorter).error(), Error::badhandle);
  EXPECT_EQ(run(fs_->resolve({})).error(), Error::badhandle);
}

TEST_P(HandlesTest, another_export_of_the_same_directory_has_other_handles_and_another_fsid) {
  const FileHandle handle = create("file")->file->handle();
  const std::uint64_t fsid = attributes(root_).fsid;
  options_.tree.id = ExportId(6);
  options_.tree.key = {33, 44};
  options_.tree.export_path = "/second";
  restart();
  EXPECT_EQ(resolve(handle).error(), Error::badhandle);
  EXPECT_NE(attributes(root_).fsid, fsid);
  EXPECT_EQ(attributes(find("file")).fsid, attributes(root_).fsid);
}

TEST_P(HandlesTest, dot_dot_ends_at_the_root) {
  EXPECT_EQ(lookup(root_, "..")->file.get(), root_.get());
  ASSERT_EQ(::mkdir(local("a").c_str(), 0755), 0);
  ASSERT_EQ(::mkdir(local("a/b").c_str(), 0755), 0);
  const FileRef a = find("a");
  EXPECT_EQ(lookup(find("a/b"), "..")->file.get(), a.get());
  EXPECT_EQ(lookup(a, "..")->file.get(), root_.get());
}

TEST_P(HandlesTest, a_directory_moved_out_of_the_export_has_no_parent_there) {
  const FileRef dir = mkdir("dir")->file;
  const std::string outside = options_.directory + "-outside";
  ASSERT_EQ(::mkdir(outside.c_str(), 0755), 0);
  ASSERT_EQ(::rename(local("dir").c_str(), (outside + "/dir").c_str()), 0);
  const auto parent = lookup(dir, "..");
  EXPECT_FALSE(parent) << "a way out of the export";
  ASSERT_EQ(::rmdir((outside + "/dir").c_str()), 0);
  ASSERT_EQ(::rmdir(outside.c_str()), 0);
}

TEST_P(HandlesTest, links_are_not_followed) {
  ASSERT_EQ(::symlink("/", local("out").c_str()), 0);
  const Found link = lookup(root_, "out").value();
  EXPECT_EQ(link.attributes.type, FileType::symlink);
  EXPECT_EQ(lookup(link.file, "etc").error(), Error::notdir);
  EXPECT_EQ(lookup(root_, "out/etc").error(), Error::inval);
}

TEST_P(HandlesTest, what_is_mounted_below_stays_hidden) {
  ASSERT_EQ(::mkdir(local("point").c_str(), 0755), 0);
  local_write("point/below", "exported");
  for (const bool before_start : {true, false}) {
    if (!before_start) restart();
    ASSERT_EQ(::mount("tmpfs", local("point").c_str(), "tmpfs", 0, nullptr), 0);
    if (before_start) restart();
    local_write("point/secret", "x");
    EXPECT_EQ(read(find("point/below")), "exported");
    EXPECT_EQ(lookup(find("point"), "secret").error(), Error::noent);
    EXPECT_EQ(attributes(find("point")).fsid, attributes(root_).fsid);
    EXPECT_EQ(lookup(find("point"), "..")->file.get(), root_.get());
    ASSERT_EQ(::umount(local("point").c_str()), 0);
  }
}

TEST(SubvolumeTest, equal_inode_numbers_of_two_subvolumes_are_two_files) {
  const auto mount = mounted("btrfs");
  if (!mount) GTEST_SKIP() << mount.error();
  const std::string directory = *mount + "/subvolumes";
  const std::string make = "mkdir " + directory + " && btrfs -q subvolume create " + directory +
                           "/a && btrfs -q subvolume create " + directory + "/b";
  ASSERT_EQ(::system(make.c_str()), 0);
  base::SystemClock clock;
  io::SlabPool slabs({});
  PosixOptions options;
  options.directory = directory;
  options.slabs = &slabs;
  options.tree.key = {1, 2};
  std::uint64_t fsids[2][2];
  for (auto& [a_fsid, b_fsid] : fsids) {
    const auto fs = PosixFileSystem::open(options, clock).value();
    const FileRef root = fs->root();
    const Credentials who;
    const Found a = run(fs->lookup(who, root, "a")).value();
    const Found b = run(fs->lookup(who, root, "b")).value();
    EXPECT_EQ(a.attributes.fileid, b.attributes.fileid);
    EXPECT_NE(a.attributes.fsid, b.attributes.fsid);
    EXPECT_NE(a.attributes.fsid, run(fs->getattr(root))->fsid);
    EXPECT_EQ(run(fs->lookup(who, a.file, "..")).value().file.get(), root.get());
    a_fsid = a.attributes.fsid;
    b_fsid = b.attributes.fsid;
  }
  EXPECT_EQ(fsids[0][0], fsids[1][0]);
  EXPECT_EQ(fsids[0][1], fsids[1][1]);
}

}  // namespace
}  // namespace braid::vfs
