// GETATTR and SETATTR.
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <limits>

#include "posix_fixture.h"

namespace braid::vfs {
namespace {

class AttributesTest : public PosixTest {
 protected:
  static SetAttributes with_size(std::uint64_t size) {
    SetAttributes set;
    set.size = size;
    return set;
  }
  static SetAttributes with_times(SetTime atime, SetTime mtime) {
    SetAttributes set;
    set.atime = atime;
    set.mtime = mtime;
    return set;
  }
  static constexpr SetTime leave{SetTime::How::leave, {}};
  static constexpr SetTime server{SetTime::How::server, {}};
  static constexpr SetTime client(std::int64_t seconds) { return {SetTime::How::client, {seconds, 0}}; }

  FileRef file_of(std::uint32_t uid, std::uint32_t mode, std::string_view name = "file") {
    local_write(name, "0123456789");
    EXPECT_EQ(::chown(local(name).c_str(), uid, uid), 0);
    EXPECT_EQ(::chmod(local(name).c_str(), mode), 0);
    return find(name);
  }
};
BRAID_ON_EVERY_FILE_SYSTEM(AttributesTest);

TEST_P(AttributesTest, attributes_are_those_of_the_file_now) {
  const FileRef file = file_of(1001, 04640);
  struct stat status{};
  ASSERT_EQ(::stat(local("file").c_str(), &status), 0);
  const Attributes now = attributes(file);
  EXPECT_EQ(now.type, FileType::regular);
  EXPECT_EQ(now.mode, 04640U);
  EXPECT_EQ(now.uid, 1001U);
  EXPECT_EQ(now.size, 10U);
  EXPECT_EQ(now.fileid, status.st_ino);
  EXPECT_EQ(now.space, static_cast<std::uint64_t>(status.st_blocks) * 512);
  EXPECT_EQ(now.mtime, (Time{status.st_mtim.tv_sec, static_cast<std::uint32_t>(status.st_mtim.tv_nsec)}));
  EXPECT_EQ(now.ctime, (Time{status.st_ctim.tv_sec, static_cast<std::uint32_t>(status.st_ctim.tv_nsec)}));
  EXPECT_NE(now.btime, Time{});
  EXPECT_NE(now.fsid, 0U);
  local_write("file", "changed locally");
  EXPECT_EQ(attributes(file).size, 15U);
}

TEST_P(AttributesTest, a_mode_is_set_by_the_owner_and_root_only) {
  const FileRef file = file_of(1001, 0600);
  EXPECT_EQ(setattr(file, with_mode(0644), user(1002, 1001)).error(), Error::perm);
  EXPECT_TRUE(setattr(file, with_mode(0640), user(1001, 1001)));
  EXPECT_EQ(attributes(file).mode, 0640U);
  EXPECT_TRUE(setattr(file, with_mode(07777)));
  EXPECT_EQ(attributes(file).mode, 07777U);
}

TEST_P(AttributesTest, set_gid_needs_membership) {
  const FileRef file = file_of(1001, 0755);
  EXPECT_TRUE(setattr(file, with_mode(02755), user(1001, 5000)));
  EXPECT_EQ(attributes(file).mode, 0755U);
  EXPECT_TRUE(setattr(file, with_mode(02755), user(1001, 5000, {1001})));
  EXPECT_EQ(attributes(file).mode, 02755U);
}

TEST_P(AttributesTest, the_mode_of_a_symbolic_link_is_ignored) {
  ASSERT_EQ(::symlink("nowhere", local("link").c_str()), 0);
  EXPECT_TRUE(setattr(find("link"), with_mode(0600)));
}

TEST_P(AttributesTest, ownership_is_given_by_root_and_groups_within_membership) {
  const FileRef file = file_of(1001, 0644);
  SetAttributes set;
  set.uid = 1002;
  EXPECT_EQ(setattr(file, set, user(1001, 1001)).error(), Error::perm);
  EXPECT_TRUE(setattr(file, set));
  EXPECT_EQ(attributes(file).uid, 1002U);
  SetAttributes group;
  group.gid = 77;
  EXPECT_EQ(setattr(file, group, user(1002, 1002)).error(), Error::perm);
  EXPECT_TRUE(setattr(file, group, user(1002, 1002, {77})));
  EXPECT_EQ(attributes(file).gid, 77U);
  set.uid = 0xffffffff;
  EXPECT_EQ(setattr(file, set).error(), Error::inval);
}

TEST_P(AttributesTest, a_new_owner_does_not_get_the_set_id_bits) {
  const FileRef file = file_of(1001, 06755);
  SetAttributes set;
  set.uid = 1002;
  ASSERT_TRUE(setattr(file, set));
  EXPECT_EQ(attributes(file).mode, 0755U);
  set.uid = 1003;
  set.mode = 06755;
  ASSERT_TRUE(setattr(file, set));
  EXPECT_EQ(attributes(file).mode, 0755U);
}

TEST_P(AttributesTest, a_size_is_set_by_whoever_may_write) {
  const FileRef file = file_of(1001, 0604);
  EXPECT_EQ(setattr(file, with_size(4), user(1002, 1002)).error(), Error::acces);
  EXPECT_TRUE(setattr(file, with_size(4), user(1001, 1001)));
  EXPECT_EQ(local_read("file"), "0123");
  EXPECT_TRUE(setattr(file, with_size(6)));
  EXPECT_EQ(local_read("file"), std::string("0123\0\0", 6));
  EXPECT_TRUE(setattr(file, with_mode(0400)));
  EXPECT_TRUE(setattr(file, with_size(0), user(1001, 1001))) << "the owner may have the file open";
}

TEST_P(AttributesTest, a_size_belongs_to_regular_files_and_has_a_limit) {
  const FileRef file = file_of(0, 0644);
  EXPECT_EQ(setattr(root_, with_size(0)).error(), Error::isdir);
  ASSERT_EQ(::mkfifo(local("fifo").c_str(), 0644), 0);
  EXPECT_EQ(setattr(find("fifo"), with_size(0)).error(), Error::inval);
  ASSERT_EQ(::mknod(local("device").c_str(), S_IFCHR | 0666, makedev(1, 3)), 0);
  EXPECT_EQ(setattr(find("device"), with_size(0)).error(), Error::inval);
  EXPECT_EQ(setattr(file, with_size(std::numeric_limits<std::uint64_t>::max())).error(), Error::fbig);
}

TEST_P(AttributesTest, truncation_clears_the_set_id_bits) {
  const FileRef file = file_of(1001, 06777);
  ASSERT_TRUE(setattr(file, with_size(1), user(1002, 1002)));
  EXPECT_EQ(attributes(file).mode, 0777U);
}

TEST_P(AttributesTest, a_client_s_time_is_kept_to_the_nanosecond) {
  const FileRef file = file_of(0, 0644);
  SetAttributes set;
  set.atime = {SetTime::How::client, {1'000'000'001, 123456789}};
  set.mtime = {SetTime::How::client, {1'000'000'002, 987654321}};
  ASSERT_TRUE(setattr(file, set));
  EXPECT_EQ(attributes(file).atime, set.atime.value);
  EXPECT_EQ(attributes(file).mtime, set.mtime.value);
  ASSERT_TRUE(setattr(file, with_times(client(5), leave)));
  EXPECT_EQ(attributes(file).atime, (Time{5, 0}));
  EXPECT_EQ(attributes(file).mtime, set.mtime.value);
}

TEST_P(AttributesTest, whoever_may_write_may_set_the_server_s_time_and_only_the_owner_another) {
  const FileRef file = file_of(1001, 0602);
  ASSERT_TRUE(setattr(file, with_times(client(5), client(6))));
  const Credentials writer = user(1002, 1002);
  EXPECT_EQ(setattr(file, with_times(leave, client(7)), writer).error(), Error::perm);
  EXPECT_TRUE(setattr(file, with_times(leave, server), writer));
  EXPECT_EQ(attributes(file).atime, (Time{5, 0}));
  EXPECT_GT(attributes(file).mtime.seconds, 1000);
  EXPECT_TRUE(setattr(file, with_times(server, server), writer));
  EXPECT_GT(attributes(file).atime.seconds, 1000);
  ASSERT_TRUE(setattr(file, with_mode(0600)));
  EXPECT_FALSE(setattr(file, with_times(leave, server), writer));
  EXPECT_FALSE(setattr(file, with_times(server, server), writer));
}

TEST_P(AttributesTest, a_writer_truncates_with_the_server_s_time_in_one_call) {
  const FileRef file = file_of(1001, 0602);
  SetAttributes set = with_size(2);
  set.mtime = server;
  ASSERT_TRUE(setattr(file, set, user(1002, 1002)));
  EXPECT_EQ(attributes(file).size, 2U);
}

TEST_P(AttributesTest, a_link_s_own_times_and_owner_are_set) {
  local_write("target", "x");
  ASSERT_EQ(::symlink("target", local("link").c_str()), 0);
  SetAttributes set = with_times(leave, client(9));
  set.uid = 1009;
  ASSERT_TRUE(setattr(find("link"), set));
  EXPECT_EQ(attributes(find("link")).mtime, (Time{9, 0}));
  EXPECT_EQ(attributes(find("link")).uid, 1009U);
  EXPECT_EQ(attributes(find("target")).uid, 0U);
}

TEST_P(AttributesTest, a_guard_must_match_the_ctime) {
  const FileRef file = file_of(0, 0644);
  const std::optional<Time> now = attributes(file).ctime;
  const std::optional<Time> other = Time{now->seconds, now->nanoseconds ^ 1};
  const SetAttributes set = with_mode(0600);
  EXPECT_EQ(run(fs_->setattr({}, file, set, other, &wcc_)).error(), Error::not_sync);
  EXPECT_TRUE(wcc_.after);
  EXPECT_EQ(attributes(file).mode, 0644U);
  EXPECT_TRUE(run(fs_->setattr({}, file, set, now, &wcc_)));
}

TEST_P(AttributesTest, a_read_only_export_refuses) {
  local_write("file", "x");
  options_.tree.read_only = true;
  restart();
  EXPECT_EQ(setattr(find("file"), with_mode(0600)).error(), Error::rofs);
  EXPECT_EQ(write(find("file"), "y").error(), Error::rofs);
  EXPECT_EQ(read(find("file")), "x");
}

}  // namespace
}  // namespace braid::vfs
