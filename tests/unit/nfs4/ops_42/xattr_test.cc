// GETXATTR, SETXATTR, LISTXATTRS and REMOVEXATTR: RFC 8276 section 8.
#include <sys/stat.h>
#include <sys/xattr.h>

#include <array>
#include <set>
#include <string>

#include "tests/unit/nfs4/ops_42/fixture.h"

namespace braid::nfs4::test {
namespace {

using enum nfs_opnum4;
using enum nfsstat4;

class Xattr : public Extended {
 protected:
  void SetUp() override {
    world_.write_local("file", "text");
    // tmpfs has them since Linux 6.6.
    if (::setxattr(path().c_str(), "user.probe", "", 0, 0) != 0) GTEST_SKIP() << "no user.* attributes here";
    ASSERT_EQ(::removexattr(path().c_str(), "user.probe"), 0);
  }
  [[nodiscard]] std::string path() const { return world_.directory() + "/file"; }
  nfsstat4 set(std::string_view name, std::string_view value,
               setxattr_option4 option = setxattr_option4::SETXATTR4_EITHER) {
    return status(at({"file"}).add(OP_SETXATTR, SETXATTR4args{option, name, base::bytes_of(value)}));
  }
  nfsstat4 remove(std::string_view name) {
    return status(at({"file"}).add(OP_REMOVEXATTR, REMOVEXATTR4args{name}));
  }
  std::string get(std::string_view name) {
    Reply reply = behind_at(at({"file"}).add(OP_GETXATTR, GETXATTR4args{name}));
    auto result = reply.result<GETXATTR4res>(OP_GETXATTR);
    if (result.gxr_value() == nullptr) return std::string(name_of(result.gxr_status));
    return std::string(base::text_of(*result.gxr_value()));
  }
  std::optional<LISTXATTRS4resok> list(std::uint64_t cookie, std::uint32_t bytes) {
    reply_ = behind_at(at({"file"}).add(OP_LISTXATTRS, LISTXATTRS4args{cookie, bytes}));
    auto result = reply_.result<LISTXATTRS4res>(OP_LISTXATTRS);
    listed_ = result.lxr_status;
    if (result.lxr_value() == nullptr) return std::nullopt;
    return *result.lxr_value();
  }

  Reply reply_;
  nfsstat4 listed_ = NFS4_OK;
};

TEST_F(Xattr, what_was_set_is_got_and_local_processes_see_it) {
  EXPECT_EQ(set("colour", "blue"), NFS4_OK);
  EXPECT_EQ(get("colour"), "blue");
  EXPECT_EQ(::getxattr(path().c_str(), "user.colour", nullptr, 0), 4);
  EXPECT_EQ(get("shape"), "NFS4ERR_NOXATTR");
  EXPECT_EQ(set("empty", ""), NFS4_OK);
  EXPECT_EQ(get("empty"), "");
}

TEST_F(Xattr, create_and_replace_mean_what_they_say) {
  EXPECT_EQ(set("name", "x", setxattr_option4::SETXATTR4_REPLACE), NFS4ERR_NOXATTR);
  EXPECT_EQ(set("name", "x", setxattr_option4::SETXATTR4_CREATE), NFS4_OK);
  EXPECT_EQ(set("name", "y", setxattr_option4::SETXATTR4_CREATE), NFS4ERR_EXIST);
  EXPECT_EQ(set("name", "z", setxattr_option4::SETXATTR4_REPLACE), NFS4_OK);
  EXPECT_EQ(remove("name"), NFS4_OK);
  EXPECT_EQ(remove("name"), NFS4ERR_NOXATTR);
}

TEST_F(Xattr, a_change_is_told_with_the_change_attribute) {
  Reply reply = behind_at(at({"file"}).add(
      OP_SETXATTR, SETXATTR4args{setxattr_option4::SETXATTR4_EITHER, "name", base::bytes_of("x")}));
  auto result = reply.result<SETXATTR4res>(OP_SETXATTR);
  ASSERT_NE(result.sxr_info(), nullptr);
  EXPECT_TRUE(result.sxr_info()->atomic_);
  EXPECT_LT(result.sxr_info()->before, result.sxr_info()->after);
}

TEST_F(Xattr, the_largest_value_goes_through_or_is_refused_properly) {
  const std::string large(32768, 'v');
  const nfsstat4 stored = set("large", large);
  EXPECT_EQ(get("large"), stored == NFS4_OK ? large : "NFS4ERR_NOXATTR");
  EXPECT_EQ(set(std::string(251, 'n'), "x"), NFS4ERR_NAMETOOLONG);
  EXPECT_EQ(set("", "x"), NFS4ERR_INVAL);
}

TEST_F(Xattr, names_are_listed_in_parts) {
  std::multiset<std::string> expected;
  for (int i = 0; i < 20; ++i) {
    const std::string name = "name" + std::to_string(i);
    ASSERT_EQ(set(name, "v"), NFS4_OK);
    expected.insert(name);
  }
  for (const std::uint32_t bytes : {28U, 100U, 4096U}) {
    std::multiset<std::string> seen;
    std::uint64_t cookie = 0;
    for (bool end = false; !end;) {
      const auto part = list(cookie, bytes);
      ASSERT_TRUE(part) << name_of(listed_);
      EXPECT_LE(encoded_size(*part), bytes);
      for (const std::string_view name : part->lxr_names) seen.emplace(name);
      cookie = part->lxr_cookie;
      end = part->lxr_eof;
    }
    EXPECT_EQ(seen, expected);
  }
  EXPECT_FALSE(list(0, 20));
  EXPECT_EQ(listed_, NFS4ERR_TOOSMALL);
}

TEST_F(Xattr, a_file_without_any_has_an_empty_list) {
  const auto none = list(0, 1000);
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->lxr_names.empty());
  EXPECT_TRUE(none->lxr_eof);
}

TEST_F(Xattr, who_may_not_write_the_file_may_not_set_them) {
  ASSERT_EQ(::chmod(path().c_str(), 0644), 0);
  SessionClient user(world_, 2, "user", {.uid = 1234, .gid = 1234});
  Request request = user.request();
  to(request, {"file"})
      .add(OP_SETXATTR, SETXATTR4args{setxattr_option4::SETXATTR4_EITHER, "name", base::bytes_of("x")});
  EXPECT_EQ(user.send(request).status(), NFS4ERR_ACCESS);
}

}  // namespace
}  // namespace braid::nfs4::test
