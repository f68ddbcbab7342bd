// Files held open: the rights of the moment, what survives chmod and unlink, how they are created.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "posix_fixture.h"

namespace braid::vfs {
namespace {

using namespace std::chrono_literals;

class OpenTest : public PosixTest {
 protected:
  Outcome<OpenFileRef> open(const FileRef& file, OpenAccess access = OpenAccess::read,
                            const Credentials& who = {}, OpenRule rule = OpenRule::caller) {
    return run(fs_->open(who, file, access, rule));
  }
  Outcome<OpenCreated> open_create(std::string_view name, const CreateHow& how,
                                   OpenAccess access = OpenAccess::both, const Credentials& who = {}) {
    return run(fs_->open_create(who, root_, name, access, how, wcc_));
  }
  Outcome<std::string> read_open(const OpenFileRef& open, std::uint64_t offset = 0,
                                 std::uint32_t count = 1 << 20) {
    auto got = run(open->read(offset, count, *cursor_));
    if (!got) return base::fail(got.error());
    eof_ = got->eof;
    std::string text(got->data.size(), '\0');
    got->data.in_memory().value().copy_to(0, std::as_writable_bytes(std::span(text)));
    return text;
  }
  Outcome<WriteResult> write_open(const OpenFileRef& open, std::string_view text, std::uint64_t offset = 0,
                                  Stability stability = Stability::unstable, const Credentials& who = {}) {
    const io::Payload data = payload(text);
    return run(open->write(who, offset, data, stability));
  }
  void let_everybody_create() { ASSERT_EQ(::chmod(local().c_str(), 0777), 0); }
  [[nodiscard]] mode_t local_mode(std::string_view path) const {
    struct stat stat{};
    return ::stat(local(path).c_str(), &stat) == 0 ? stat.st_mode & 07777U : 0U;
  }
  static CreateHow how(CreateHow::Mode mode, std::uint32_t file_mode = 0644) {
    return {mode, with_mode(file_mode), {}};
  }
  static CreateHow exclusive(CreateHow::Mode mode, unsigned char seed) {
    CreateHow out{mode, with_mode(0640), {}};
    out.verifier.bytes.fill(static_cast<std::byte>(seed));
    return out;
  }

  bool eof_ = false;
};
BRAID_ON_EVERY_FILE_SYSTEM(OpenTest);

TEST_P(OpenTest, what_is_written_through_an_open_is_read_through_another) {
  const auto file = create("file")->file;
  const auto writer = open(file, OpenAccess::write).value();
  const auto reader = open(file).value();
  EXPECT_EQ(write_open(writer, "hello world")->count, 11U);
  EXPECT_EQ(write_open(writer, "W", 6, Stability::file_sync)->committed, Stability::file_sync);
  EXPECT_EQ(read_open(reader, 0, 5), "hello");
  EXPECT_FALSE(eof_);
  EXPECT_EQ(read_open(reader, 6, 5), "World");
  EXPECT_TRUE(eof_) << "the count ends where the file does";
  EXPECT_EQ(read_open(reader, 11, 5), "");
  EXPECT_TRUE(eof_);
  EXPECT_EQ(local_read("file"), "hello World");
}

// What ends before the end that was seen last is read without looking at the file again.
TEST_P(OpenTest, the_end_of_a_file_is_told_also_when_it_has_moved) {
  local_write("file", "0123456789");
  const auto reader = open(find("file")).value();
  EXPECT_EQ(read_open(reader, 0, 10), "0123456789");
  EXPECT_TRUE(eof_);
  EXPECT_EQ(read_open(reader, 0, 9), "012345678");
  EXPECT_FALSE(eof_);
  // Local processes cut it short, and make it longer.
  ASSERT_EQ(::truncate(local("file").c_str(), 4), 0);
  EXPECT_EQ(read_open(reader, 0, 9), "0123");
  EXPECT_TRUE(eof_);
  EXPECT_EQ(read_open(reader, 4, 5), "");
  EXPECT_TRUE(eof_);
  local_write("file", "0123456789abcdef");
  EXPECT_EQ(read_open(reader, 4, 6), "456789");
  EXPECT_FALSE(eof_);
  EXPECT_EQ(read_open(reader, 10, 100), "abcdef");
  EXPECT_TRUE(eof_);
}

TEST_P(OpenTest, an_open_gives_only_what_it_was_made_for) {
  local_write("file", "text");
  const auto file = find("file");
  const auto reader = open(file, OpenAccess::read).value();
  const auto writer = open(file, OpenAccess::write).value();
  EXPECT_EQ(write_open(reader, "x").error(), Error::acces);
  EXPECT_EQ(read_open(writer).error(), Error::acces);
  SetAttributes empty;
  empty.size = 0;
  EXPECT_EQ(run(reader->set({}, empty)).error(), Error::acces);
  EXPECT_EQ(local_read("file"), "text");
  EXPECT_TRUE(run(writer->set({}, empty)));
  EXPECT_EQ(local_read("file"), "");
}

TEST_P(OpenTest, opening_asks_for_the_rights_of_the_caller) {
  local_write("file", "text");
  ASSERT_EQ(::chown(local("file").c_str(), 1000, 1000), 0);
  ASSERT_EQ(::chmod(local("file").c_str(), 0640), 0);
  const auto file = find("file");
  EXPECT_TRUE(open(file, OpenAccess::both, user(1000)));
  EXPECT_TRUE(open(file, OpenAccess::read, user(1001, 1000)));
  EXPECT_TRUE(open(file, OpenAccess::read, user(1001, 7, {8, 1000})));
  EXPECT_EQ(open(file, OpenAccess::write, user(1001, 1000)).error(), Error::acces);
  EXPECT_EQ(open(file, OpenAccess::both, user(1001, 1000)).error(), Error::acces);
  EXPECT_EQ(open(file, OpenAccess::read, user(1002, 1002)).error(), Error::acces);
}

TEST_P(OpenTest, the_owner_is_refused_unless_the_open_was_granted_before) {
  local_write("file", "text");
  ASSERT_EQ(::chown(local("file").c_str(), 1000, 1000), 0);
  ASSERT_EQ(::chmod(local("file").c_str(), 0), 0);
  const auto file = find("file");
  EXPECT_EQ(open(file, OpenAccess::read, user(1000)).error(), Error::acces);
  EXPECT_TRUE(open(file, OpenAccess::both, user(1000), OpenRule::owner_override));
  EXPECT_EQ(open(file, OpenAccess::read, user(1001), OpenRule::owner_override).error(), Error::acces);
}

TEST_P(OpenTest, who_may_execute_a_file_may_open_it_for_reading) {
  local_write("file", "#!/bin/sh\n");
  ASSERT_EQ(::chmod(local("file").c_str(), 0711), 0);
  const auto file = find("file");
  const auto reader = open(file, OpenAccess::read, user(1000));
  ASSERT_TRUE(reader);
  EXPECT_EQ(read_open(*reader, 0, 2), "#!");
  EXPECT_EQ(open(file, OpenAccess::write, user(1000)).error(), Error::acces);
}

TEST_P(OpenTest, only_regular_files_are_opened) {
  ASSERT_TRUE(mkdir("directory"));
  ASSERT_EQ(::symlink("directory", local("link").c_str()), 0);
  ASSERT_EQ(::mkfifo(local("fifo").c_str(), 0666), 0);
  EXPECT_EQ(open(find("directory")).error(), Error::isdir);
  EXPECT_EQ(open(find("link")).error(), Error::inval);
  EXPECT_EQ(open(find("fifo")).error(), Error::inval);
}

TEST_P(OpenTest, an_open_stays_usable_when_the_mode_changes) {
  const auto file = create("file")->file;
  const auto both = open(file, OpenAccess::both, user(0)).value();
  ASSERT_EQ(::chmod(local("file").c_str(), 0), 0);
  EXPECT_TRUE(write_open(both, "still", 0, Stability::unstable, user(1000)));
  EXPECT_EQ(read_open(both), "still");
}

TEST_P(OpenTest, an_open_stays_usable_when_the_name_goes_and_so_does_the_handle) {
  const auto both = open(create("file")->file, OpenAccess::both).value();
  const FileHandle handle = both->file()->handle();
  ASSERT_TRUE(write_open(both, "kept"));
  ASSERT_TRUE(remove("file"));
  EXPECT_EQ(read_open(both), "kept");
  EXPECT_TRUE(write_open(both, "s", 3));
  EXPECT_EQ(read_open(both), "keps");
  const auto again = run(fs_->resolve(handle.view()));
  ASSERT_TRUE(again);
  EXPECT_EQ(attributes(*again).nlink, 0U);
  EXPECT_EQ(attributes(*again).size, 4U);
  EXPECT_TRUE(commit(*again));
}

TEST_P(OpenTest, a_file_without_a_name_is_gone_with_its_last_open) {
  auto first = open(create("file")->file, OpenAccess::both).value();
  auto second = open(first->file(), OpenAccess::read).value();
  const FileHandle handle = first->file()->handle();
  ASSERT_TRUE(remove("file"));
  ASSERT_TRUE(run(fs_->close(std::move(first))));
  EXPECT_TRUE(run(fs_->resolve(handle.view())));
  ASSERT_TRUE(run(fs_->close(std::move(second))));
  EXPECT_EQ(run(fs_->resolve(handle.view())).error(), Error::stale);
}

TEST_P(OpenTest, a_name_that_a_local_process_removed_is_noticed_too) {
  auto both = open(create("file")->file, OpenAccess::both).value();
  const FileHandle handle = both->file()->handle();
  ASSERT_EQ(::unlink(local("file").c_str()), 0);
  EXPECT_EQ(attributes(both->file()).nlink, 0U);
  ASSERT_TRUE(run(fs_->close(std::move(both))));
  EXPECT_EQ(run(fs_->resolve(handle.view())).error(), Error::stale);
}

TEST_P(OpenTest, opens_of_one_access_share_a_descriptor_until_the_last_is_closed) {
  const auto file = create("file")->file;
  const std::size_t before = fs_->stats().cache.descriptors;
  std::vector<OpenFileRef> readers, writers;
  for (int i = 0; i < 20; ++i) {
    readers.push_back(open(file, OpenAccess::read).value());
    writers.push_back(open(file, OpenAccess::both).value());
  }
  EXPECT_EQ(fs_->stats().cache.descriptors, before + 2);
  readers.erase(readers.begin(), readers.end() - 1);
  writers.erase(writers.begin(), writers.end() - 1);
  EXPECT_TRUE(write_open(writers[0], "text", 0, Stability::file_sync));
  EXPECT_EQ(read_open(readers[0]), "text");
  EXPECT_EQ(write_open(readers[0], "text").error(), Error::acces);
  readers.clear();
  EXPECT_EQ(fs_->stats().cache.descriptors, before + 1);
  writers.clear();
  EXPECT_EQ(fs_->stats().cache.descriptors, before);
}

TEST_P(OpenTest, who_shares_a_descriptor_has_asked_for_the_rights_nevertheless) {
  local_write("file", "text");
  ASSERT_EQ(::chown(local("file").c_str(), 1000, 1000), 0);
  ASSERT_EQ(::chmod(local("file").c_str(), 0600), 0);
  const auto file = find("file");
  const auto owner = open(file, OpenAccess::read, user(1000)).value();
  EXPECT_EQ(open(file, OpenAccess::read, user(1001)).error(), Error::acces);
}

TEST_P(OpenTest, opens_that_keep_descriptors_are_refused_at_the_limit) {
  options_.tree.sync = false;
  options_.tree.root.persistent_handles = false;
  options_.tree.cache.descriptors_max = 32;
  restart();
  std::vector<OpenFileRef> held;
  std::size_t before_the_last = 0;
  for (int i = 0; i < 64; ++i) {
    const auto file = create("file" + std::to_string(i))->file;
    if (!fs_->few_opens_left()) ++before_the_last;
    auto opened = open(file);
    if (!opened) {
      EXPECT_EQ(opened.error(), Error::too_many_open_files);
      break;
    }
    held.push_back(std::move(*opened));
  }
  EXPECT_GT(held.size(), 10U);
  EXPECT_LT(before_the_last, held.size());
  EXPECT_GT(before_the_last, held.size() / 2);
  EXPECT_LT(held.size(), 32U);
  held.resize(held.size() / 2);
  EXPECT_TRUE(open(find("file0")));
}

TEST_P(OpenTest, an_open_that_is_refused_leaves_no_file_behind) {
  options_.tree.sync = false;
  options_.tree.root.persistent_handles = false;
  options_.tree.cache.descriptors_max = 32;
  restart();
  std::vector<OpenFileRef> held;
  for (int i = 0; i < 64; ++i) {
    const std::string name = "file" + std::to_string(i);
    auto made = open_create(name, how(CreateHow::Mode::guarded));
    if (made) {
      held.push_back(std::move(made->open));
      continue;
    }
    EXPECT_EQ(made.error(), Error::too_many_open_files);
    EXPECT_FALSE(std::filesystem::exists(local(name)));
    break;
  }
  EXPECT_GT(held.size(), 10U);
  EXPECT_LT(held.size(), 33U);
}

TEST_P(OpenTest, opens_that_are_not_used_do_not_keep_others_from_being_evicted) {
  options_.tree.sync = false;
  options_.tree.cache.descriptors_max = 3000;
  restart();
  std::vector<OpenFileRef> held;
  for (int i = 0; i < 1200; ++i)
    held.push_back(open_create("held" + std::to_string(i), how(CreateHow::Mode::guarded))->open);
  for (int i = 0; i < 1500; ++i) ASSERT_TRUE(create("file" + std::to_string(i)));
  EXPECT_LE(fs_->stats().cache.descriptors, 3010U);
  EXPECT_TRUE(open(find("file0"))) << "room is made for one more open, too";
}

TEST_P(OpenTest, a_closed_file_can_be_executed_at_once) {
  {
    const auto made = open_create("program", how(CreateHow::Mode::guarded, 0755), OpenAccess::write);
    ASSERT_TRUE(write_open(made->open, "#!/bin/sh\nexit 0\n"));
  }
  EXPECT_EQ(::system(local("program").c_str()), 0);
}

TEST_P(OpenTest, set_id_bits_go_with_a_write_by_somebody_else) {
  local_write("file", "text");
  ASSERT_EQ(::chmod(local("file").c_str(), 06777), 0);
  const auto writer = open(find("file"), OpenAccess::write, user(1000)).value();
  ASSERT_TRUE(write_open(writer, "x", 0, Stability::unstable, user(1000)));
  EXPECT_EQ(local_mode("file"), 0777U);
}

TEST_P(OpenTest, an_open_tells_of_the_attributes_before_and_after_if_it_is_asked) {
  local_write("file", "text");
  const auto writer = open(find("file"), OpenAccess::write).value();
  const io::Payload data = payload("longer text");
  Wcc wcc;
  ASSERT_TRUE(run(writer->write({}, 0, data, Stability::unstable, &wcc)));
  ASSERT_TRUE(wcc.before && wcc.after);
  EXPECT_EQ(wcc.before->size, 4U);
  EXPECT_EQ(wcc.after->size, 11U);
  SetAttributes empty;
  empty.size = 0;
  ASSERT_TRUE(run(writer->set({}, empty, &wcc)));
  EXPECT_EQ(wcc.before->size, 11U);
  EXPECT_EQ(wcc.after->size, 0U);
  wcc = {};
  ASSERT_TRUE(run(writer->commit({}, 0, 0, &wcc)));
  EXPECT_TRUE(wcc.before && wcc.after);
}

TEST_P(OpenTest, a_read_only_export_opens_for_reading_only) {
  local_write("file", "text");
  options_.tree.read_only = true;
  restart();
  EXPECT_TRUE(open(find("file")));
  EXPECT_EQ(open(find("file"), OpenAccess::write).error(), Error::rofs);
  EXPECT_EQ(open_create("new", how(CreateHow::Mode::unchecked)).error(), Error::rofs);
}

// As by a reload of the configuration.
TEST_P(OpenTest, an_export_that_becomes_read_only_is_written_by_nobody_who_has_files_open) {
  const auto opens = std::make_shared<posix::OpensOptions>(false, true);
  options_.tree.opens = opens;
  restart();
  local_write("file", "text");
  const auto held = open(find("file"), OpenAccess::both).value();
  options_.tree.read_only = true;
  opens->read_only = true;
  restart();
  EXPECT_EQ(write_open(held, "other").error(), Error::rofs);
  EXPECT_EQ(run(held->allocate({}, 0, 100)).error(), Error::rofs);
  EXPECT_EQ(run(held->deallocate({}, 0, 2)).error(), Error::rofs);
  EXPECT_EQ(run(held->copy_from({}, *held, 0, 4, 4)).error(), Error::rofs);
  EXPECT_EQ(run(held->clone_from({}, *held, 0, 4096, 0)).error(), Error::rofs);
  SetAttributes empty;
  empty.size = 0;
  EXPECT_EQ(run(held->set({}, empty)).error(), Error::rofs);
  EXPECT_EQ(read_open(held), "text");
}

TEST_P(OpenTest, a_created_file_is_open_as_wanted_whatever_its_mode) {
  let_everybody_create();
  const auto made = open_create("file", how(CreateHow::Mode::guarded, 0), OpenAccess::both, user(1000, 1000));
  ASSERT_TRUE(made);
  EXPECT_TRUE(made->created);
  EXPECT_EQ(made->attributes.mode, 0U);
  EXPECT_EQ(made->attributes.uid, 1000U);
  EXPECT_TRUE(write_open(made->open, "mine", 0, Stability::unstable, user(1000, 1000)));
  EXPECT_EQ(read_open(made->open), "mine");
  ASSERT_TRUE(wcc_.before && wcc_.after);
  EXPECT_NE(wcc_.before->change, wcc_.after->change);
}

TEST_P(OpenTest, guarded_refuses_what_exists_and_unchecked_opens_it) {
  local_write("file", "text");
  EXPECT_EQ(open_create("file", how(CreateHow::Mode::guarded)).error(), Error::exist);
  const auto opened = open_create("file", how(CreateHow::Mode::unchecked, 0600));
  ASSERT_TRUE(opened);
  EXPECT_FALSE(opened->created);
  EXPECT_FALSE(opened->truncated);
  EXPECT_EQ(read_open(opened->open), "text");
  EXPECT_EQ(local_mode("file"), 0644U) << "attributes are for new files";
}

TEST_P(OpenTest, unchecked_with_size_zero_truncates_what_exists) {
  local_write("file", "text");
  CreateHow zero = how(CreateHow::Mode::unchecked);
  zero.attributes.size = 0;
  const auto opened = open_create("file", zero, OpenAccess::write);
  ASSERT_TRUE(opened);
  EXPECT_TRUE(opened->truncated);
  EXPECT_EQ(opened->attributes.size, 0U);
  local_write("file", "text");
  CreateHow larger = how(CreateHow::Mode::unchecked);
  larger.attributes.size = 2;
  EXPECT_EQ(open_create("file", larger)->attributes.size, 4U) << "only a size of zero means anything";
  EXPECT_EQ(open_create("new", larger)->attributes.size, 2U);
}

TEST_P(OpenTest, unchecked_asks_for_the_rights_to_what_exists) {
  let_everybody_create();
  local_write("file", "text");
  const auto refused = open_create("file", how(CreateHow::Mode::unchecked), OpenAccess::write, user(1000));
  EXPECT_EQ(refused.error(), Error::acces);
  CreateHow zero = how(CreateHow::Mode::unchecked);
  zero.attributes.size = 0;
  EXPECT_EQ(open_create("file", zero, OpenAccess::read, user(1000)).error(), Error::acces);
  EXPECT_EQ(local_read("file"), "text");
}

TEST_P(OpenTest, a_repeated_exclusive_create_finds_its_file_and_another_one_does_not) {
  let_everybody_create();
  const Credentials who = user(1000, 1000);
  for (const auto mode : {CreateHow::Mode::exclusive, CreateHow::Mode::exclusive_with_attributes}) {
    const std::string name = "file" + std::to_string(static_cast<int>(mode));
    const auto first = open_create(name, exclusive(mode, 7), OpenAccess::both, who);
    ASSERT_TRUE(first);
    EXPECT_TRUE(first->created);
    restart();
    const auto again = open_create(name, exclusive(mode, 7), OpenAccess::both, who);
    ASSERT_TRUE(again);
    EXPECT_TRUE(again->created);
    EXPECT_EQ(again->attributes.fileid, first->attributes.fileid);
    EXPECT_EQ(open_create(name, exclusive(mode, 8), OpenAccess::both, who).error(), Error::exist);
    ASSERT_TRUE(write_open(again->open, "x", 0, Stability::unstable, who));
    EXPECT_EQ(open_create(name, exclusive(mode, 7), OpenAccess::both, who).error(), Error::exist);
  }
}

TEST_P(OpenTest, exclusive_with_attributes_sets_them_and_plain_exclusive_does_not) {
  const auto plain = open_create("plain", exclusive(CreateHow::Mode::exclusive, 7));
  EXPECT_EQ(plain->attributes.mode, 0U);
  CreateHow full = exclusive(CreateHow::Mode::exclusive_with_attributes, 7);
  full.attributes.uid = 1000;
  full.attributes.gid = 1001;
  const auto made = open_create("file", full);
  EXPECT_EQ(made->attributes.mode, 0640U);
  EXPECT_EQ(made->attributes.uid, 1000U);
  EXPECT_EQ(made->attributes.gid, 1001U);
}

TEST_P(OpenTest, the_umask_counts_unless_the_directory_has_a_default_acl) {
  CreateHow masked = how(CreateHow::Mode::guarded, 0666);
  masked.attributes.umask = 022;
  EXPECT_EQ(open_create("plain", masked)->attributes.mode, 0644U);
  if (!kernel_has_acls()) GTEST_SKIP() << "no ACLs here";
  SetAcl set;
  set.inherited = {{AclTag::user_obj, 7, 0}, {AclTag::group_obj, 6, 0}, {AclTag::other, 4, 0}};
  ASSERT_TRUE(run(fs_->set_acl({}, root_, set, &wcc_)));
  EXPECT_EQ(open_create("inherits", masked)->attributes.mode, 0664U);
}

TEST_P(OpenTest, every_change_of_ours_changes_the_change_attribute) {
  const auto both = open(create("file")->file, OpenAccess::both).value();
  std::uint64_t last = attributes(both->file()).change;
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(write_open(both, std::to_string(i)));
    const std::uint64_t now = attributes(both->file()).change;
    ASSERT_GT(now, last);
    last = now;
    EXPECT_EQ(attributes(both->file()).change, last) << "nothing happened in between";
  }
}

TEST_P(OpenTest, birth_is_known_and_does_not_move) {
  const auto made = open_create("file", how(CreateHow::Mode::guarded));
  const Time birth = made->attributes.btime;
  ASSERT_GT(birth.seconds, 0);
  ASSERT_TRUE(write_open(made->open, "text"));
  EXPECT_EQ(attributes(made->open->file()).btime, birth);
}

TEST(ChangeStampTest, states_with_the_same_ctime_differ_if_we_made_the_difference) {
  posix::ChangeStamp stamp;
  EXPECT_EQ(stamp.observe(1000, 1), 1000U);
  EXPECT_EQ(stamp.observe(1000, 1), 1000U);
  EXPECT_EQ(stamp.observe(1000, 2), 1001U);
  EXPECT_EQ(stamp.observe(1000, 5), 1002U);
  EXPECT_EQ(stamp.observe(1000, 5), 1002U);
  EXPECT_EQ(stamp.observe(2000, 6), 2000U);
}

}  // namespace
}  // namespace braid::vfs
