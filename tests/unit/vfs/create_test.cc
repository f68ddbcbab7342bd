// CREATE: the three modes of RFC 1813 3.3.8.
#include <sys/stat.h>

#include <thread>

#include "posix_fixture.h"

namespace braid::vfs {
namespace {

class CreateTest : public PosixTest {
 protected:
  using Mode = CreateHow::Mode;
  Outcome<Found> create_with(std::string_view name, const CreateHow& how, const Credentials& who = {}) {
    return run(fs_->create(who, root_, name, how, wcc_));
  }
  static CreateHow exclusive(unsigned char first) {
    CreateHow how;
    how.mode = CreateHow::Mode::exclusive;
    how.verifier.bytes.fill(std::byte{0xff});
    how.verifier.bytes[0] = static_cast<std::byte>(first);
    return how;
  }
};
BRAID_ON_EVERY_FILE_SYSTEM(CreateTest);

TEST_P(CreateTest, a_new_file_belongs_to_the_caller_and_can_be_written) {
  const auto made = create("file", 0640, user(1001, 1002));
  ASSERT_FALSE(made) << "the directory is not the caller's";
  EXPECT_EQ(made.error(), Error::acces);
  ASSERT_EQ(::chmod(local().c_str(), 0777), 0);
  const auto found = create("file", 0640, user(1001, 1002));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->attributes.type, FileType::regular);
  EXPECT_EQ(found->attributes.mode, 0640U);
  EXPECT_EQ(found->attributes.uid, 1001U);
  EXPECT_EQ(found->attributes.gid, 1002U);
  EXPECT_EQ(found->attributes.nlink, 1U);
  ASSERT_TRUE(write(found->file, "text", 0, user(1001, 1002)));
  EXPECT_EQ(local_read("file"), "text");
}

TEST_P(CreateTest, a_new_file_may_be_written_by_its_creator_whatever_its_mode) {
  const auto found = create("file", 0444);
  ASSERT_TRUE(found);
  EXPECT_TRUE(write(found->file, "text"));
}

TEST_P(CreateTest, guarded_refuses_an_existing_name) {
  ASSERT_TRUE(create("file"));
  EXPECT_EQ(create("file").error(), Error::exist);
  ASSERT_TRUE(mkdir("dir"));
  EXPECT_EQ(create("dir").error(), Error::exist);
}

TEST_P(CreateTest, unchecked_finds_an_existing_file_and_sets_only_its_size) {
  local_write("file", "text");
  ASSERT_EQ(::chmod(local("file").c_str(), 0600), 0);
  CreateHow how{Mode::unchecked, with_mode(0777), {}};
  const auto found = create_with("file", how);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->attributes.mode, 0600U);
  EXPECT_EQ(found->attributes.size, 4U);
  how.attributes.size = 0;
  EXPECT_EQ(create_with("file", how)->attributes.size, 0U);
}

TEST_P(CreateTest, unchecked_truncates_only_what_the_caller_may_write) {
  local_write("file", "text");
  CreateHow how{Mode::unchecked, with_mode(0644), {}};
  how.attributes.size = 0;
  EXPECT_EQ(create_with("file", how, user(1001, 1001)).error(), Error::acces);
  EXPECT_EQ(local_read("file"), "text");
}

TEST_P(CreateTest, unchecked_does_not_follow_a_link) {
  local_write("target", "text");
  ASSERT_EQ(::symlink("target", local("link").c_str()), 0);
  CreateHow how{Mode::unchecked, with_mode(0644), {}};
  how.attributes.size = 0;
  const auto found = create_with("link", how);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->attributes.type, FileType::symlink);
  EXPECT_EQ(local_read("target"), "text");
}

TEST_P(CreateTest, initial_attributes_are_set) {
  CreateHow how{Mode::unchecked, with_mode(0644), {}};
  how.attributes.size = 1000;
  how.attributes.mtime = {SetTime::How::client, {12345, 0}};
  how.attributes.uid = 3;
  how.attributes.gid = 4;
  const auto found = create_with("file", how);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->attributes.size, 1000U);
  EXPECT_EQ(found->attributes.mtime, (Time{12345, 0}));
  EXPECT_EQ(found->attributes.uid, 3U);
  EXPECT_EQ(found->attributes.gid, 4U);
}

TEST_P(CreateTest, only_root_gives_a_new_file_away) {
  ASSERT_EQ(::chmod(local().c_str(), 0777), 0);
  CreateHow how{Mode::unchecked, with_mode(0644), {}};
  how.attributes.uid = 3;
  const auto found = create_with("file", how, user(1001, 1002));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->attributes.uid, 1001U);
}

TEST_P(CreateTest, a_set_gid_directory_hands_its_group_on) {
  ASSERT_EQ(::chown(local().c_str(), 0, 4711), 0);
  ASSERT_EQ(::chmod(local().c_str(), 02777), 0);
  const auto found = create("file", 0644, user(1001, 1002));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->attributes.gid, 4711U);
}

TEST_P(CreateTest, set_gid_needs_membership_in_the_group) {
  ASSERT_EQ(::chown(local().c_str(), 0, 4711), 0);
  ASSERT_EQ(::chmod(local().c_str(), 02777), 0);
  EXPECT_EQ(create("stranger", 02755, user(1001, 1002)).value().attributes.mode, 0755U);
  EXPECT_EQ(create("member", 02755, user(1001, 1002, {4711})).value().attributes.mode, 02755U);
}

TEST_P(CreateTest, an_exclusive_create_repeated_finds_its_file_even_after_a_restart) {
  const auto first = create_with("file", exclusive(1));
  ASSERT_TRUE(first);
  EXPECT_EQ(create_with("file", exclusive(1)).value().attributes.fileid, first->attributes.fileid);
  EXPECT_EQ(create_with("file", exclusive(2)).error(), Error::exist);
  const std::uint64_t fileid = first->attributes.fileid;
  restart();
  EXPECT_EQ(create_with("file", exclusive(1)).value().attributes.fileid, fileid);
  EXPECT_EQ(create_with("file", exclusive(2)).error(), Error::exist);
}

TEST_P(CreateTest, an_exclusive_create_does_not_take_over_a_used_file) {
  const auto first = create_with("file", exclusive(1));
  ASSERT_TRUE(write(first->file, "x"));
  EXPECT_EQ(create_with("file", exclusive(1)).error(), Error::exist);
  ASSERT_TRUE(mkdir("dir"));
  EXPECT_EQ(create_with("dir", exclusive(1)).error(), Error::exist);
}

TEST_P(CreateTest, of_many_creators_one_wins) {
  options_.tree.sync = false;
  restart();
  std::atomic<int> won{0}, lost{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] {
        for (int n = 0; n < 100; ++n) {
          Wcc wcc;
          const CreateHow how{Mode::guarded, with_mode(0644), {}};
          const Credentials who = user(0);
          const auto made = run(fs_->create(who, root_, "file" + std::to_string(n), how, wcc));
          if (made)
            ++won;
          else if (made.error() == Error::exist)
            ++lost;
        }
      });
  }
  EXPECT_EQ(won, 100);
  EXPECT_EQ(lost, 300);
}

TEST_P(CreateTest, bad_names_are_refused) {
  EXPECT_EQ(create("").error(), Error::inval);
  EXPECT_EQ(create("a/b").error(), Error::inval);
  EXPECT_EQ(create(std::string_view("a\0b", 3)).error(), Error::inval);
  EXPECT_EQ(create(".").error(), Error::exist);
  EXPECT_EQ(create("..").error(), Error::exist);
  EXPECT_EQ(create(std::string(256, 'n')).error(), Error::nametoolong);
  EXPECT_TRUE(create(std::string(255, 'n')));
  EXPECT_TRUE(create("\xff\xfe not utf-8 \n"));
}

TEST_P(CreateTest, names_are_made_in_directories_only) {
  const auto file = create("file");
  const CreateHow how{Mode::guarded, with_mode(0644), {}};
  EXPECT_EQ(run(fs_->create({}, file->file, "below", how, wcc_)).error(), Error::notdir);
  const auto dir = mkdir("dir");
  ASSERT_EQ(::rmdir(local("dir").c_str()), 0);
  EXPECT_EQ(run(fs_->create({}, dir->file, "below", how, wcc_)).error(), Error::stale);
}

TEST_P(CreateTest, a_read_only_export_refuses) {
  options_.tree.read_only = true;
  restart();
  EXPECT_EQ(create("file").error(), Error::rofs);
  EXPECT_TRUE(wcc_.after);
}

}  // namespace
}  // namespace braid::vfs
