// Extended attributes and ACLs.
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <map>

#include "posix_fixture.h"

namespace braid::vfs {
namespace {

class XattrTest : public PosixTest {
 protected:
  void SetUp() override {
    PosixTest::SetUp();
    if (IsSkipped()) return;
    ASSERT_EQ(run(fs_->limits(root_))->xattrs, kernel_has_xattrs());
    if (!kernel_has_xattrs()) GTEST_SKIP() << "no user.* attributes here";
    local_write("file", "text");
    file_ = find("file");
  }
  void TearDown() override {
    file_ = {};
    PosixTest::TearDown();
  }
  Outcome<> set(std::string_view name, std::string_view value, XattrMode mode = XattrMode::either,
                const Credentials& who = {}) {
    return run(fs_->set_xattr(who, file_, name, base::bytes_of(value), mode, wcc_));
  }
  Outcome<std::string> get(std::string_view name, const Credentials& who = {}) {
    auto value = run(fs_->get_xattr(who, file_, name));
    if (!value) return base::fail(value.error());
    std::string out(value->size(), '\0');
    value->in_memory().value().copy_to(0, std::as_writable_bytes(std::span(out)));
    return out;
  }
  Outcome<> remove_xattr(std::string_view name, const Credentials& who = {}) {
    return run(fs_->remove_xattr(who, file_, name, wcc_));
  }
  // `batch` names at a time.
  std::multiset<std::string> list_xattrs(std::size_t batch) {
    std::multiset<std::string> names;
    std::uint64_t cookie = 0;
    for (bool end = false; !end;) {
      std::size_t taken = 0;
      const XattrSink sink = [&](std::string_view name, std::uint64_t after) {
        if (taken == batch) return false;
        ++taken;
        names.emplace(name);
        cookie = after;
        return true;
      };
      end = run(fs_->list_xattrs({}, file_, cookie, sink)).value();
    }
    return names;
  }

  FileRef file_;
};
BRAID_ON_EVERY_FILE_SYSTEM(XattrTest);

TEST_P(XattrTest, local_processes_see_the_same_attribute_with_its_prefix) {
  ASSERT_TRUE(set("colour", "blue"));
  std::string local_value(16, '\0');
  const ssize_t size =
      ::getxattr(local("file").c_str(), "user.colour", local_value.data(), local_value.size());
  EXPECT_EQ(local_value.substr(0, static_cast<std::size_t>(std::max<ssize_t>(size, 0))), "blue");
  ASSERT_EQ(::setxattr(local("file").c_str(), "user.shape", "round", 5, 0), 0);
  EXPECT_EQ(get("shape"), "round");
  EXPECT_EQ(get("size").error(), Error::no_xattr);
}

TEST_P(XattrTest, values_may_be_empty_and_any_bytes) {
  const std::string bytes("\0\xff\n\0", 4);
  ASSERT_TRUE(set("bytes", bytes));
  EXPECT_EQ(get("bytes"), bytes);
  ASSERT_TRUE(set("empty", ""));
  EXPECT_EQ(get("empty"), "");
}

TEST_P(XattrTest, create_and_replace_mean_what_they_say) {
  EXPECT_EQ(set("name", "x", XattrMode::replace).error(), Error::no_xattr);
  EXPECT_TRUE(set("name", "x", XattrMode::create));
  EXPECT_EQ(set("name", "y", XattrMode::create).error(), Error::exist);
  EXPECT_TRUE(set("name", "z", XattrMode::replace));
  EXPECT_EQ(get("name"), "z");
  EXPECT_TRUE(remove_xattr("name"));
  EXPECT_EQ(remove_xattr("name").error(), Error::no_xattr);
}

TEST_P(XattrTest, a_change_is_reported_with_the_attributes_before_and_after) {
  ASSERT_TRUE(set("name", "x"));
  ASSERT_TRUE(wcc_.before && wcc_.after);
  EXPECT_LT(wcc_.before->change, wcc_.after->change);
  EXPECT_EQ(attributes(file_).change, wcc_.after->change);
}

TEST_P(XattrTest, names_have_limits) {
  EXPECT_TRUE(set(std::string(250, 'n'), "x"));
  EXPECT_EQ(set(std::string(251, 'n'), "x").error(), Error::nametoolong);
  EXPECT_EQ(set("", "x").error(), Error::inval);
  EXPECT_EQ(set(std::string_view("a\0b", 3), "x").error(), Error::inval);
  EXPECT_EQ(get(std::string(300, 'n')).error(), Error::nametoolong);
}

TEST_P(XattrTest, values_have_limits) {
  EXPECT_EQ(set("name", std::string(65537, 'v')).error(), Error::xattr2big);
  // What fits below that is up to the file system.
  const std::string large(65536, 'v');
  const bool fits = set("large", large).has_value();
  EXPECT_EQ(get("large"), fits ? Outcome<std::string>(large) : base::fail(Error::no_xattr));
}

TEST_P(XattrTest, every_name_is_listed_once_whatever_comes_and_goes) {
  std::multiset<std::string> expected;
  for (int i = 0; i < 20; ++i) {
    const std::string name = "name" + std::to_string(i);
    ASSERT_TRUE(set(name, "v"));
    expected.insert(name);
  }
  for (const std::size_t batch : {1U, 7U, 20U, 100U}) EXPECT_EQ(list_xattrs(batch), expected);
  std::multiset<std::string> seen;
  std::uint64_t cookie = 0;
  int round = 0;
  for (bool end = false; !end; ++round) {
    bool taken = false;
    const XattrSink sink = [&](std::string_view name, std::uint64_t after) {
      if (std::exchange(taken, true)) return false;
      if (!name.starts_with("other")) seen.emplace(name);
      cookie = after;
      return true;
    };
    end = run(fs_->list_xattrs({}, file_, cookie, sink)).value();
    const std::string other = "other" + std::to_string(round / 2 % 5);
    ASSERT_TRUE(round % 2 == 0 ? set(other, "v") : remove_xattr(other));
  }
  EXPECT_EQ(seen, expected);
}

TEST_P(XattrTest, the_mode_decides_who_may_read_and_write_them) {
  ASSERT_TRUE(set("name", "x"));
  ASSERT_EQ(::chmod(local("file").c_str(), 0644), 0);
  EXPECT_EQ(get("name", user(1000)), "x");
  EXPECT_EQ(set("name", "y", XattrMode::either, user(1000)).error(), Error::acces);
  EXPECT_EQ(remove_xattr("name", user(1000)).error(), Error::acces);
  ASSERT_EQ(::chmod(local("file").c_str(), 0600), 0);
  EXPECT_EQ(get("name", user(1000)).error(), Error::acces);
  const XattrSink sink = [](std::string_view, std::uint64_t) { return true; };
  EXPECT_EQ(run(fs_->list_xattrs(user(1000), file_, 0, sink)).error(), Error::acces);
}

TEST_P(XattrTest, directories_have_them_and_other_objects_do_not) {
  ASSERT_TRUE(mkdir("directory"));
  file_ = find("directory");
  EXPECT_TRUE(set("name", "x"));
  EXPECT_EQ(get("name"), "x");
  ASSERT_EQ(::mkfifo(local("fifo").c_str(), 0666), 0);
  file_ = find("fifo");
  EXPECT_FALSE(set("name", "x"));
}

TEST_P(XattrTest, a_read_only_export_keeps_them_as_they_are) {
  ASSERT_TRUE(set("name", "x"));
  options_.tree.read_only = true;
  file_ = {};
  restart();
  file_ = find("file");
  EXPECT_EQ(set("name", "y").error(), Error::rofs);
  EXPECT_EQ(remove_xattr("name").error(), Error::rofs);
  EXPECT_EQ(get("name"), "x");
}

class AclTest : public PosixTest {
 protected:
  void SetUp() override {
    PosixTest::SetUp();
    if (IsSkipped()) return;
    ASSERT_EQ(run(fs_->limits(root_))->acls, kernel_has_acls());
    if (!kernel_has_acls()) GTEST_SKIP() << "no ACLs here";
    local_write("file", "text");
    // What a thread makes by itself may have the group of whom it served last.
    ASSERT_EQ(::chown(local("file").c_str(), 0, 0), 0);
  }
  Outcome<> set(const FileRef& file, const SetAcl& acl, const Credentials& who = {}) {
    return run(fs_->set_acl(who, file, acl, &wcc_));
  }
  Outcome<PosixAcl> get(const FileRef& file) { return run(fs_->get_acl(file)); }
  static AclEntries with_user(std::uint32_t id, std::uint8_t permissions) {
    return {{AclTag::user_obj, 6, 0},
            {AclTag::user, permissions, id},
            {AclTag::group_obj, 4, 0},
            {AclTag::mask, 7, 0},
            {AclTag::other, 0, 0}};
  }
};
BRAID_ON_EVERY_FILE_SYSTEM(AclTest);

TEST_P(AclTest, an_acl_that_was_set_is_read_and_obeyed) {
  const auto file = find("file");
  EXPECT_EQ(get(file)->access, AclEntries{});
  const AclEntries entries = with_user(1000, 6);
  ASSERT_TRUE(set(file, {entries, std::nullopt}));
  EXPECT_EQ(get(file)->access, entries);
  EXPECT_EQ(attributes(file).mode, 0670U) << "the mask is the group's part of the mode";
  EXPECT_TRUE(run(fs_->open(user(1000), file, OpenAccess::both, OpenRule::caller)));
  EXPECT_EQ(run(fs_->open(user(1001, 1001), file, OpenAccess::read, OpenRule::caller)).error(), Error::acces);
  ASSERT_TRUE(set(file, {AclEntries{}, std::nullopt}));
  EXPECT_EQ(get(file)->access, AclEntries{});
}

TEST_P(AclTest, three_entries_are_the_mode) {
  const auto file = find("file");
  ASSERT_TRUE(
      set(file, {AclEntries{{AclTag::user_obj, 7, 0}, {AclTag::group_obj, 5, 0}, {AclTag::other, 1, 0}},
                 std::nullopt}));
  EXPECT_EQ(attributes(file).mode, 0751U);
  EXPECT_EQ(get(file)->access, AclEntries{});
}

TEST_P(AclTest, a_directory_hands_its_default_acl_on) {
  ASSERT_TRUE(mkdir("directory"));
  const auto directory = find("directory");
  const AclEntries entries = with_user(1000, 7);
  ASSERT_TRUE(set(directory, {std::nullopt, entries}));
  EXPECT_EQ(get(directory)->inherited, entries);
  local_write("directory/file", "x");
  EXPECT_EQ(get(find("directory/file"))->access.size(), entries.size());
  EXPECT_EQ(set(find("file"), {std::nullopt, entries}).error(), Error::acces);
}

TEST_P(AclTest, only_the_owner_sets_it_and_nonsense_is_refused) {
  const auto file = find("file");
  EXPECT_EQ(set(file, {with_user(1000, 6), std::nullopt}, user(1000)).error(), Error::perm);
  EXPECT_EQ(set(file, {AclEntries{{AclTag::user, 7, 1000}}, std::nullopt}).error(), Error::inval);
  EXPECT_EQ(get(file)->access, AclEntries{});
}

}  // namespace
}  // namespace braid::vfs
