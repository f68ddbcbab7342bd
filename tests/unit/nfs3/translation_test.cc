// The translations between the file system's values and those on the wire.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <utility>

#include "nfs3/attributes.h"
#include "nfs3/mount/status.h"
#include "nfs3/mount/text.h"
#include "nfs3/names.h"
#include "nfs3/status.h"

namespace braid::nfs3 {
namespace {

using vfs::Error;

TEST(Status, each_error_of_the_file_system_has_the_number_of_the_rfc) {
  constexpr auto expected = std::to_array<std::pair<Error, int>>({
      {Error::perm, 1},
      {Error::noent, 2},
      {Error::io, 5},
      {Error::nxio, 6},
      {Error::acces, 13},
      {Error::exist, 17},
      {Error::xdev, 18},
      {Error::nodev, 19},
      {Error::notdir, 20},
      {Error::isdir, 21},
      {Error::inval, 22},
      {Error::fbig, 27},
      {Error::nospc, 28},
      {Error::rofs, 30},
      {Error::mlink, 31},
      {Error::nametoolong, 63},
      {Error::notempty, 66},
      {Error::dquot, 69},
      {Error::stale, 70},
      {Error::badhandle, 10001},
      {Error::not_sync, 10002},
      {Error::bad_cookie, 10003},
      {Error::notsupp, 10004},
      {Error::too_small, 10005},
      {Error::server_fault, 10006},
      {Error::delay, 10008},
      {Error::too_many_open_files, 10008},
      {Error::no_xattr, 10006},
      {Error::xattr2big, 10006},
  });
  static_assert(expected.size() == static_cast<std::size_t>(Error::server_fault) + 1);
  for (const auto& [error, number] : expected) EXPECT_EQ(static_cast<int>(status_of(error)), number);
}

TEST(Status, mount_keeps_the_errors_it_knows_and_hides_the_others) {
  EXPECT_EQ(mount::status_of(Error::perm), mountstat3::MNT3ERR_PERM);
  EXPECT_EQ(mount::status_of(Error::noent), mountstat3::MNT3ERR_NOENT);
  EXPECT_EQ(mount::status_of(Error::io), mountstat3::MNT3ERR_IO);
  EXPECT_EQ(mount::status_of(Error::acces), mountstat3::MNT3ERR_ACCES);
  EXPECT_EQ(mount::status_of(Error::notdir), mountstat3::MNT3ERR_NOTDIR);
  EXPECT_EQ(mount::status_of(Error::inval), mountstat3::MNT3ERR_INVAL);
  EXPECT_EQ(mount::status_of(Error::nametoolong), mountstat3::MNT3ERR_NAMETOOLONG);
  EXPECT_EQ(mount::status_of(Error::notsupp), mountstat3::MNT3ERR_NOTSUPP);
  EXPECT_EQ(mount::status_of(Error::stale), mountstat3::MNT3ERR_NOENT);
  EXPECT_EQ(mount::status_of(Error::dquot), mountstat3::MNT3ERR_SERVERFAULT);
}

TEST(Times, before_1970_and_after_2106_become_the_nearest_time_that_fits) {
  EXPECT_EQ(nfstime3_of({-1, 7}), (nfstime3{0, 7}));
  EXPECT_EQ(nfstime3_of({0x1'0000'0000, 7}), (nfstime3{0xffff'ffff, 7}));
  EXPECT_EQ(nfstime3_of({0xffff'fffe, 999'999'999}), (nfstime3{0xffff'fffe, 999'999'999}));
}

TEST(Times, a_full_second_of_nanoseconds_is_refused) {
  EXPECT_EQ(time_of({5, 999'999'999}), (vfs::Time{5, 999'999'999}));
  EXPECT_EQ(time_of({5, 1'000'000'000}), base::fail(Error::inval));
  EXPECT_EQ(time_of({5, 0xffff'ffff}), base::fail(Error::inval));
}

TEST(Times, the_second_half_of_the_range_is_after_2038_and_not_before_1970) {
  EXPECT_EQ(time_of({0xffff'ffff, 0})->seconds, 0xffff'ffffLL);
}

TEST(Attributes, every_file_type_has_the_number_of_the_rfc) {
  using vfs::FileType;
  EXPECT_EQ(static_cast<int>(ftype3_of(FileType::regular)), 1);
  EXPECT_EQ(static_cast<int>(ftype3_of(FileType::directory)), 2);
  EXPECT_EQ(static_cast<int>(ftype3_of(FileType::block_device)), 3);
  EXPECT_EQ(static_cast<int>(ftype3_of(FileType::character_device)), 4);
  EXPECT_EQ(static_cast<int>(ftype3_of(FileType::symlink)), 5);
  EXPECT_EQ(static_cast<int>(ftype3_of(FileType::socket)), 6);
  EXPECT_EQ(static_cast<int>(ftype3_of(FileType::fifo)), 7);
}

TEST(Attributes, every_field_keeps_its_value) {
  vfs::Attributes in;
  in.mode = 0104755;  // with type bits, which NFSv3 does not send
  in.nlink = 3;
  in.uid = 4;
  in.gid = 5;
  in.size = 0x600000000;
  in.space = 0x700000000;
  in.rdev = {8, 9};
  in.fsid = 10;
  in.fileid = 11;
  in.atime = {12, 13};
  in.mtime = {14, 15};
  in.ctime = {16, 17};
  const fattr3 out = fattr3_of(in);
  EXPECT_EQ(out, (fattr3{ftype3::NF3REG,
                         04755,
                         3,
                         4,
                         5,
                         0x600000000,
                         0x700000000,
                         {8, 9},
                         10,
                         11,
                         {12, 13},
                         {14, 15},
                         {16, 17}}));
}

TEST(Wcc, without_a_before_only_the_after_is_sent) {
  const wcc_data out = wcc_data_of({std::nullopt, vfs::Attributes{}});
  EXPECT_FALSE(out.before.attributes_follow);
  EXPECT_TRUE(out.after.attributes_follow);
}

TEST(SetAttributes, what_is_not_set_stays_absent) {
  const auto set = set_attributes_of(sattr3{});
  ASSERT_TRUE(set);
  EXPECT_FALSE(set->mode || set->uid || set->gid || set->size);
  EXPECT_EQ(set->atime.how, vfs::SetTime::How::leave);
  EXPECT_EQ(set->mtime.how, vfs::SetTime::How::leave);
}

TEST(SetAttributes, each_part_arrives) {
  sattr3 wanted;
  wanted.mode = set_mode3::with_mode(0170640);
  wanted.uid = set_uid3::with_uid(7);
  wanted.gid = set_gid3::with_gid(8);
  wanted.size = set_size3::with_size(9);
  wanted.atime = set_atime::with_default(time_how::SET_TO_SERVER_TIME);
  wanted.mtime = set_mtime::with_mtime({10, 11});
  const auto set = set_attributes_of(wanted);
  ASSERT_TRUE(set);
  EXPECT_EQ(set->mode, 0640U);
  EXPECT_EQ(set->uid, 7U);
  EXPECT_EQ(set->gid, 8U);
  EXPECT_EQ(set->size, 9U);
  EXPECT_EQ(set->atime.how, vfs::SetTime::How::server);
  EXPECT_EQ(set->mtime.how, vfs::SetTime::How::client);
  EXPECT_EQ(set->mtime.value, (vfs::Time{10, 11}));
}

TEST(SetAttributes, a_size_beyond_the_largest_offset_is_fbig) {
  sattr3 wanted;
  wanted.size = set_size3::with_size(0x7fff'ffff'ffff'ffff);
  EXPECT_TRUE(set_attributes_of(wanted));
  wanted.size = set_size3::with_size(0x8000'0000'0000'0000);
  EXPECT_EQ(set_attributes_of(wanted).error(), Error::fbig);
}

TEST(SetAttributes, an_impossible_time_is_inval) {
  sattr3 wanted;
  wanted.atime = set_atime::with_atime({1, 1'000'000'000});
  EXPECT_EQ(set_attributes_of(wanted).error(), Error::inval);
}

TEST(Names, empty_is_acces_and_slash_or_nul_is_inval) {
  for (const NameUse use :
       {NameUse::lookup, NameUse::create, NameUse::remove, NameUse::rmdir, NameUse::rename}) {
    EXPECT_EQ(check_name("", use), base::fail(Error::acces));
    EXPECT_EQ(check_name("a/b", use), base::fail(Error::inval));
    EXPECT_EQ(check_name("/", use), base::fail(Error::inval));
    EXPECT_EQ(check_name(std::string_view("a\0b", 3), use), base::fail(Error::inval));
    EXPECT_EQ(check_name(std::string(256, 'x'), use), base::fail(Error::nametoolong));
    EXPECT_TRUE(check_name(std::string(255, 'x'), use));
    EXPECT_TRUE(check_name("\xff\xfe not UTF-8", use));
    EXPECT_TRUE(check_name("...", use));
    EXPECT_TRUE(check_name("\n", use));
  }
}

TEST(Names, dots_mean_what_the_procedure_makes_of_them) {
  EXPECT_TRUE(check_name(".", NameUse::lookup));
  EXPECT_TRUE(check_name("..", NameUse::lookup));
  for (const std::string_view name : {".", ".."}) {
    EXPECT_EQ(check_name(name, NameUse::create), base::fail(Error::exist));
    EXPECT_EQ(check_name(name, NameUse::remove), base::fail(Error::inval));
    EXPECT_EQ(check_name(name, NameUse::rename), base::fail(Error::inval));
  }
  EXPECT_EQ(check_name(".", NameUse::rmdir), base::fail(Error::inval));   // RFC 1813 3.3.13
  EXPECT_EQ(check_name("..", NameUse::rmdir), base::fail(Error::exist));  // RFC 1813 3.3.13
}

TEST(LinkTargets, any_path_shorter_than_path_max_will_do) {
  EXPECT_TRUE(check_link_target("../a//b/./c"));
  EXPECT_TRUE(check_link_target(std::string(4095, 'x')));
  EXPECT_EQ(check_link_target(std::string(4096, 'x')), base::fail(Error::nametoolong));
  EXPECT_EQ(check_link_target(""), base::fail(Error::inval));
  EXPECT_EQ(check_link_target(std::string_view("a\0b", 3)), base::fail(Error::inval));
}

TEST(MountText, networks_look_as_an_administrator_writes_them) {
  for (const std::string_view text :
       {"192.0.2.0/24", "192.0.2.7", "2001:db8::/32", "2001:db8::1", "0.0.0.0/0", "::/0"})
    EXPECT_EQ(mount::text_of(*vfs::Network::parse(text)), text);
}

TEST(MountText, paths_get_one_form) {
  EXPECT_EQ(mount::normal_path("/"), "/");
  EXPECT_EQ(mount::normal_path(""), "/");
  EXPECT_EQ(mount::normal_path("/srv/data/"), "/srv/data");
  EXPECT_EQ(mount::normal_path("srv//./data"), "/srv/data");
  EXPECT_EQ(mount::normal_path("/srv/../etc"), std::nullopt);
  EXPECT_EQ(mount::normal_path(std::string_view("/srv\0/x", 7)), std::nullopt);
  EXPECT_EQ(mount::normal_path("/..."), "/...");
}

}  // namespace
}  // namespace braid::nfs3
