#include "nfs4/names.h"

#include <gtest/gtest.h>

#include <string>

namespace braid::nfs4 {
namespace {

using enum nfsstat4;

nfsstat4 checked(std::string_view name) {
  const auto result = check_name(name);
  return result ? NFS4_OK : result.error();
}

TEST(Names, are_refused_for_what_is_wrong_with_them) {
  EXPECT_EQ(checked("a"), NFS4_OK);
  EXPECT_EQ(checked(std::string(255, 'a')), NFS4_OK);
  EXPECT_EQ(checked(""), NFS4ERR_INVAL);
  EXPECT_EQ(checked(std::string(256, 'a')), NFS4ERR_NAMETOOLONG);
  EXPECT_EQ(checked("a/b"), NFS4ERR_BADCHAR);
  EXPECT_EQ(checked(std::string_view("a\0b", 3)), NFS4ERR_BADCHAR);
  EXPECT_EQ(checked("."), NFS4ERR_BADNAME);
  EXPECT_EQ(checked(".."), NFS4ERR_BADNAME);
  EXPECT_EQ(checked("..."), NFS4_OK);
}

TEST(Names, need_not_be_utf8) { EXPECT_EQ(checked("\xe4\xf6"), NFS4_OK); }

TEST(LinkTargets, are_refused_for_what_is_wrong_with_them) {
  EXPECT_TRUE(check_link_target("../x//y").has_value());
  EXPECT_EQ(check_link_target("").error(), NFS4ERR_INVAL);
  EXPECT_EQ(check_link_target(std::string_view("a\0b", 3)).error(), NFS4ERR_BADCHAR);
  EXPECT_EQ(check_link_target(std::string(4096, 'a')).error(), NFS4ERR_NAMETOOLONG);
}

TEST(Utf8, knows_well_formed_text) {
  for (const std::string_view text : {"", "plain", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf",
                                      "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"})
    EXPECT_TRUE(is_utf8(text)) << text;
  for (const std::string_view text :
       {"\x80", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2\x20", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xe2\x82",
        "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "a\xff"})
    EXPECT_FALSE(is_utf8(text)) << text;
}

}  // namespace
}  // namespace braid::nfs4
