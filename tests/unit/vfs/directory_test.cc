// READDIR and READDIRPLUS, and LOOKUP of what they list.
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <thread>

#include "posix_fixture.h"

namespace braid::vfs {
namespace {

class DirectoryTest : public PosixTest {
 protected:
  void SetUp() override {
    PosixTest::SetUp();
    if (IsSkipped()) return;
    options_.tree.sync = false;
    restart();
  }
  void fill(int count) const {
    const int directory = ::open(local().c_str(), O_RDONLY | O_DIRECTORY);
    for (int i = 0; i < count; ++i) {
      const int fd = ::openat(directory, ("file" + std::to_string(i)).c_str(), O_CREAT | O_WRONLY, 0644);
      ASSERT_GE(fd, 0);
      ::close(fd);
    }
    ::close(directory);
  }
  struct Listed {
    std::uint64_t fileid;
    std::optional<FileHandle> handle;
    std::optional<Attributes> attributes;
  };
  std::map<std::string, Listed> list_plus(const FileRef& directory, const Credentials& who = {}) {
    std::map<std::string, Listed> out;
    const ReadDirectoryRequest request{.cookie = 0, .plus = true};
    const EntrySink sink = [&](const DirectoryEntry& entry) {
      out[std::string(entry.name)] = {entry.fileid, entry.handle, entry.attributes};
      return true;
    };
    EXPECT_TRUE(run(fs_->readdir(who, directory, request, sink)).value());
    return out;
  }
  void every_entry_comes_once(int count);
  void removing_while_listing();
  void creating_while_listing();
};
BRAID_ON_EVERY_FILE_SYSTEM(DirectoryTest);

void DirectoryTest::every_entry_comes_once(int count) {
  fill(count);
  for (const std::size_t batch : {1U, 7U, 300U, 5000U}) {
    std::vector<std::string> names = list(root_, batch);
    ASSERT_EQ(names.size(), static_cast<std::size_t>(count) + 2) << batch;
    std::ranges::sort(names);
    EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
    EXPECT_TRUE(std::ranges::binary_search(names, "."));
    EXPECT_TRUE(std::ranges::binary_search(names, ".."));
  }
}

TEST_P(DirectoryTest, every_entry_comes_once) { every_entry_comes_once(1000); }

TEST_P(DirectoryTest, every_entry_comes_once_where_positions_shift) {
  options_.tree.stable_positions = false;
  restart();
  every_entry_comes_once(600);  // more than are kept in memory at a time
}

// What rm -r does: list a little, remove what was listed, go on from the cookie.
void DirectoryTest::removing_while_listing() {
  constexpr int count = 10000;
  fill(count);
  std::set<std::string> seen;
  ReadDirectoryRequest request;
  for (bool end = false; !end;) {
    std::vector<std::string> batch;
    const EntrySink sink = [&](const DirectoryEntry& entry) {
      if (batch.size() == 50) return false;
      batch.emplace_back(entry.name);
      request.cookie = entry.cookie;
      return true;
    };
    end = run(fs_->readdir({}, root_, request, sink)).value();
    for (const std::string& name : batch) {
      EXPECT_TRUE(seen.insert(name).second) << name << " came twice";
      if (name == "." || name == "..") continue;
      ASSERT_TRUE(remove(name)) << name;
    }
  }
  EXPECT_EQ(seen.size(), count + 2U);
}

TEST_P(DirectoryTest, removing_what_was_listed_loses_and_repeats_nothing) { removing_while_listing(); }

TEST_P(DirectoryTest, removing_what_was_listed_loses_and_repeats_nothing_where_positions_shift) {
  options_.tree.stable_positions = false;
  restart();
  removing_while_listing();
}

void DirectoryTest::creating_while_listing() {
  fill(500);
  std::map<std::string, int> seen;
  ReadDirectoryRequest request;
  int made = 0;
  for (bool end = false; !end && made < 100000;) {
    std::size_t taken = 0;
    const EntrySink sink = [&](const DirectoryEntry& entry) {
      if (taken++ == 20) return false;
      ++seen[std::string(entry.name)];
      request.cookie = entry.cookie;
      return true;
    };
    end = run(fs_->readdir({}, root_, request, sink)).value();
    if (made < 200) local_write("new" + std::to_string(made++), "");
  }
  for (int i = 0; i < 500; ++i) EXPECT_EQ(seen["file" + std::to_string(i)], 1) << i;
  for (const auto& [name, times] : seen) EXPECT_EQ(times, 1) << name;
}

TEST_P(DirectoryTest, what_stays_is_listed_once_while_others_come) { creating_while_listing(); }

TEST_P(DirectoryTest, what_stays_is_listed_once_while_others_come_where_positions_shift) {
  options_.tree.stable_positions = false;
  restart();
  creating_while_listing();
}

// Inode numbers are used again, by some file systems at once.
TEST_P(DirectoryTest, what_was_listed_before_is_listed_with_its_own_handle) {
  clock_.ahead = std::chrono::hours(1);  // all that is made here counts as old
  restart();
  for (int round = 0; round < 5; ++round) {
    fill(20);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // time of files moves in ticks
    const auto first = list_plus(root_);
    for (const auto& again : {first, list_plus(root_)}) {
      for (int i = 0; i < 20; ++i) {
        const std::string name = "file" + std::to_string(i);
        const auto& entry = again.at(name);
        ASSERT_TRUE(entry.handle && entry.attributes);
        const auto found = lookup(root_, name);
        ASSERT_TRUE(found);
        EXPECT_EQ(*entry.handle, found->file->handle());
        EXPECT_EQ(entry.attributes->fileid, found->attributes.fileid);
        EXPECT_EQ(entry.attributes->fsid, found->attributes.fsid);
      }
    }
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(remove("file" + std::to_string(i)));
  }
}

TEST_P(DirectoryTest, a_cookie_outlives_a_restart) {
  fill(300);
  std::set<std::string> seen;
  ReadDirectoryRequest request;
  for (bool end = false; !end; restart()) {
    std::size_t taken = 0;
    const EntrySink sink = [&](const DirectoryEntry& entry) {
      if (taken++ == 100) return false;
      EXPECT_TRUE(seen.insert(std::string(entry.name)).second);
      request.cookie = entry.cookie;
      return true;
    };
    end = run(fs_->readdir({}, root_, request, sink)).value();
  }
  EXPECT_EQ(seen.size(), 302U);
}

TEST_P(DirectoryTest, a_cookie_that_nobody_gave_out_is_refused) {
  const ReadDirectoryRequest request{.cookie = ~0ULL, .plus = false};
  const EntrySink sink = [](const DirectoryEntry&) { return true; };
  EXPECT_EQ(run(fs_->readdir({}, root_, request, sink)).error(), Error::bad_cookie);
}

TEST_P(DirectoryTest, names_are_any_bytes) {
  const std::vector<std::string> names = {"\xff\xfe", std::string(255, 'n'), "new\nline", "ü", " "};
  for (const std::string& name : names) local_write(name, "");
  const std::vector<std::string> listed = list(root_, 100);
  for (const std::string& name : names) EXPECT_EQ(std::ranges::count(listed, name), 1) << name;
}

TEST_P(DirectoryTest, dots_are_entries_and_the_root_is_its_own_parent) {
  ASSERT_EQ(::mkdir(local("dir").c_str(), 0755), 0);
  const std::uint64_t root = attributes(root_).fileid;
  const auto top = list_plus(root_);
  EXPECT_EQ(top.at(".").fileid, root);
  EXPECT_EQ(top.at("..").fileid, root);
  EXPECT_EQ(top.at("..").handle, root_->handle());
  const FileRef dir = find("dir");
  const auto below = list_plus(dir);
  EXPECT_EQ(below.at(".").fileid, attributes(dir).fileid);
  EXPECT_EQ(below.at("..").fileid, root);
  EXPECT_EQ(below.at("..").handle, root_->handle());
}

TEST_P(DirectoryTest, plus_adds_what_lookup_and_getattr_would_say) {
  local_write("file", "text");
  ASSERT_EQ(::mkdir(local("dir").c_str(), 0700), 0);
  ASSERT_EQ(::symlink("file", local("link").c_str()), 0);
  const auto entries = list_plus(root_);
  ASSERT_EQ(entries.size(), 5U);
  for (const char* name : {"file", "dir", "link"}) {
    const Found found = lookup(root_, name).value();
    const Listed& entry = entries.at(name);
    EXPECT_EQ(entry.handle, found.file->handle()) << name;
    ASSERT_TRUE(entry.attributes) << name;
    EXPECT_EQ(entry.attributes->fileid, found.attributes.fileid);
    EXPECT_EQ(entry.attributes->fsid, found.attributes.fsid);
    EXPECT_EQ(entry.attributes->type, found.attributes.type);
    EXPECT_EQ(entry.attributes->ctime, found.attributes.ctime);
    EXPECT_EQ(entry.fileid, found.attributes.fileid);
  }
}

TEST_P(DirectoryTest, without_search_permission_there_are_names_only) {
  const FileRef dir = mkdir("dir", 0744)->file;
  local_write("dir/file", "x");
  const auto entries = list_plus(dir, user(1001, 1001));
  ASSERT_TRUE(entries.contains("file"));
  EXPECT_FALSE(entries.at("file").handle);
  EXPECT_FALSE(entries.at("file").attributes);
  EXPECT_TRUE(list_plus(dir).at("file").handle);
}

TEST_P(DirectoryTest, listing_takes_read_permission_only) {
  const FileRef dir = mkdir("dir", 0711)->file;
  const EntrySink sink = [](const DirectoryEntry&) { return true; };
  const ReadDirectoryRequest request;
  EXPECT_EQ(run(fs_->readdir(user(1001, 1001), dir, request, sink)).error(), Error::acces);
  ASSERT_EQ(::chmod(local("dir").c_str(), 0744), 0);
  EXPECT_TRUE(run(fs_->readdir(user(1001, 1001), dir, request, sink)));
}

TEST_P(DirectoryTest, only_directories_are_listed) {
  const EntrySink sink = [](const DirectoryEntry&) { return true; };
  const ReadDirectoryRequest request;
  EXPECT_EQ(run(fs_->readdir({}, create("file")->file, request, sink)).error(), Error::notdir);
  const FileRef dir = mkdir("dir")->file;
  ASSERT_EQ(::rmdir(local("dir").c_str()), 0);
  EXPECT_EQ(run(fs_->readdir({}, dir, request, sink)).error(), Error::stale);
}

TEST_P(DirectoryTest, lookup_finds_what_is_there_now) {
  EXPECT_EQ(lookup(root_, "file").error(), Error::noent);
  local_write("file", "x");
  const Found found = lookup(root_, "file").value();
  EXPECT_EQ(found.attributes.size, 1U);
  EXPECT_EQ(lookup(root_, ".")->file.get(), root_.get());
  EXPECT_EQ(lookup(found.file, "x").error(), Error::notdir);
  EXPECT_EQ(lookup(root_, std::string(256, 'n')).error(), Error::nametoolong);
  EXPECT_EQ(lookup(root_, "a/b").error(), Error::inval);
  EXPECT_EQ(lookup(root_, "").error(), Error::inval);
}

TEST_P(DirectoryTest, a_name_means_what_it_means_now) {
  local_write("file", "old");
  const FileRef old = find("file");
  local_write("other", "newer");
  ASSERT_EQ(::rename(local("other").c_str(), local("file").c_str()), 0);
  const Found found = lookup(root_, "file").value();
  EXPECT_NE(found.file.get(), old.get());
  EXPECT_EQ(found.attributes.size, 5U);
  EXPECT_EQ(run(fs_->getattr(old)).error(), Error::stale);
}

}  // namespace
}  // namespace braid::vfs
