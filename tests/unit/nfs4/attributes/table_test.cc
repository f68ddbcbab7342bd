// Every attribute that is offered, byte for byte as the RFCs lay it out, and what the table promises of it.
#include "nfs4/attributes/table.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "tests/unit/nfs4/attributes/bytes.h"

namespace braid::nfs4::attributes {
namespace {

using test::to_hex;

// An object whose every value is another one.
class Object {
 public:
  Object() {
    server_.lease_seconds = 90;
    server_.read_bytes_max = 0x100000;
    server_.write_bytes_max = 0x80000;
    server_.open_arguments = {0xe, 0xf, 0x300038, 0x51, 0xf};
    server_.delegated_times = true;
    server_.layout_types = {layouttype4::LAYOUT4_NFSV4_1_FILES, layouttype4::LAYOUT4_FLEX_FILES};
    source_.minor = 2;
    source_.server = &server_;
    source_.object = {.type = vfs::FileType::symlink,
                      .mode = 07777,
                      .nlink = 3,
                      .uid = 1000,
                      .gid = 100,
                      .size = 0x1122334455667788,
                      .space = 0x4000,
                      .rdev = {8, 1},
                      .fsid = 0xf5,
                      .fileid = 0x2a,
                      .block_bytes = 4096,
                      .atime = {-1, 999999999},
                      .mtime = {2, 20},
                      .ctime = {3, 30},
                      .btime = {4, 40},
                      .change = 0x0102030405060708};
    source_.fsid = {0xf5, 7};
    source_.mounted_on_fileid = 0x2b;
    source_.owner = OwnerText::of_number(1000);
    source_.group = *OwnerText::of("users@example.org");
    source_.space = {0x1000, 0x800, 0x700, 0x30, 0x20, 0x10};
    source_.limits.file_bytes_max = 0x7fffffffffffffff;
    source_.limits.link_max = 65000;
    source_.limits.name_bytes_max = 255;
    source_.limits.time_delta = {0, 1};
    source_.limits.clone_block_bytes = 4096;
    source_.limits.xattrs = true;
    source_.limits.acls = true;
    source_.limits.stripe_bytes = 0x100000;
    source_.acl = aces_;
    source_.handle = handle_;
    source_.fs_root = "/data/home";
    source_.locations = locations_;
    source_.rdattr_error = nfsstat4::NFS4ERR_ACCESS;
  }
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  AttributeSource& source() { return source_; }
  ServerFacts& server() { return server_; }
  std::string value_of(std::uint32_t number) {
    const Bitmap wanted{number};
    std::array<std::byte, 512> memory{};
    FlatWriter out(memory);
    const Bitmap done = encode(wanted, source_, out);
    EXPECT_TRUE(out.ok());
    if (done != wanted) return "left out";
    const Row& row = rows()[number];
    EXPECT_LE(out.size(), bytes_max(wanted, source_)) << row.name;
    if (row.bytes_of == nullptr) {
      EXPECT_EQ(out.size(), row.bytes) << row.name;
    }
    return to_hex(out.written());
  }

 private:
  static constexpr std::array<std::byte, 5> handle_{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4},
                                                    std::byte{5}};
  std::array<nfsace4, 2> aces_{nfsace4{0, 0x40, 0x21, "wheel"}, nfsace4{1, 0, 0x6, "EVERYONE@"}};
  std::array<std::string_view, 1> hosts_{"srv"};
  std::array<std::string_view, 2> path_{"x", "yz"};
  std::array<fs_location4, 1> locations_{fs_location4{hosts_, path_}};
  ServerFacts server_;
  AttributeSource source_;
};

struct Golden {
  std::uint32_t number;
  std::string bytes;
};

const std::array golden{
    Golden{FATTR4_TYPE, "00000005"},
    Golden{FATTR4_FH_EXPIRE_TYPE, "00000000"},
    Golden{FATTR4_CHANGE, "01020304 05060708"},
    Golden{FATTR4_SIZE, "11223344 55667788"},
    Golden{FATTR4_LINK_SUPPORT, "00000001"},
    Golden{FATTR4_SYMLINK_SUPPORT, "00000001"},
    Golden{FATTR4_NAMED_ATTR, "00000000"},
    Golden{FATTR4_FSID, "00000000 000000f5 00000000 00000007"},
    Golden{FATTR4_UNIQUE_HANDLES, "00000001"},
    Golden{FATTR4_LEASE_TIME, "0000005a"},
    Golden{FATTR4_RDATTR_ERROR, "0000000d"},
    Golden{FATTR4_ACL,
           "00000002 00000000 00000040 00000021 00000005 77686565 6c000000"
           " 00000001 00000000 00000006 00000009 45564552 594f4e45 40000000"},
    Golden{FATTR4_ACLSUPPORT, "00000003"},
    Golden{FATTR4_CANSETTIME, "00000001"},
    Golden{FATTR4_CASE_INSENSITIVE, "00000000"},
    Golden{FATTR4_CASE_PRESERVING, "00000001"},
    Golden{FATTR4_CHOWN_RESTRICTED, "00000001"},
    Golden{FATTR4_FILEHANDLE, "00000005 01020304 05000000"},
    Golden{FATTR4_FILEID, "00000000 0000002a"},
    Golden{FATTR4_FILES_AVAIL, "00000000 00000010"},
    Golden{FATTR4_FILES_FREE, "00000000 00000020"},
    Golden{FATTR4_FILES_TOTAL, "00000000 00000030"},
    Golden{FATTR4_FS_LOCATIONS,
           "00000002 00000004 64617461 00000004 686f6d65 00000001"
           " 00000001 00000003 73727600 00000002 00000001 78000000 00000002 797a0000"},
    Golden{FATTR4_HOMOGENEOUS, "00000001"},
    Golden{FATTR4_MAXFILESIZE, "7fffffff ffffffff"},
    Golden{FATTR4_MAXLINK, "0000fde8"},
    Golden{FATTR4_MAXNAME, "000000ff"},
    Golden{FATTR4_MAXREAD, "00000000 00100000"},
    Golden{FATTR4_MAXWRITE, "00000000 00080000"},
    Golden{FATTR4_MODE, "00000fff"},
    Golden{FATTR4_NO_TRUNC, "00000001"},
    Golden{FATTR4_NUMLINKS, "00000003"},
    Golden{FATTR4_OWNER, "00000004 31303030"},
    Golden{FATTR4_OWNER_GROUP, "00000011 75736572 73406578 616d706c 652e6f72 67000000"},
    Golden{FATTR4_RAWDEV, "00000008 00000001"},
    Golden{FATTR4_SPACE_AVAIL, "00000000 00000700"},
    Golden{FATTR4_SPACE_FREE, "00000000 00000800"},
    Golden{FATTR4_SPACE_TOTAL, "00000000 00001000"},
    Golden{FATTR4_SPACE_USED, "00000000 00004000"},
    Golden{FATTR4_TIME_ACCESS, "ffffffff ffffffff 3b9ac9ff"},
    Golden{FATTR4_TIME_CREATE, "00000000 00000004 00000028"},
    Golden{FATTR4_TIME_DELTA, "00000000 00000000 00000001"},
    Golden{FATTR4_TIME_METADATA, "00000000 00000003 0000001e"},
    Golden{FATTR4_TIME_MODIFY, "00000000 00000002 00000014"},
    Golden{FATTR4_MOUNTED_ON_FILEID, "00000000 0000002b"},
    Golden{FATTR4_FS_LAYOUT_TYPES, "00000002 00000001 00000004"},
    Golden{FATTR4_LAYOUT_BLKSIZE, "00100000"},
    Golden{FATTR4_LAYOUT_ALIGNMENT, "00100000"},
    Golden{FATTR4_FS_CHARSET_CAP, "00000001"},
    Golden{FATTR4_CLONE_BLKSIZE, "00001000"},
    Golden{FATTR4_CHANGE_ATTR_TYPE, "00000003"},
    Golden{FATTR4_XATTR_SUPPORT, "00000001"},
    Golden{FATTR4_OPEN_ARGUMENTS,
           "00000001 0000000e 00000001 0000000f 00000001 00300038 00000001 00000051 00000001 0000000f"},
};

TEST(Table, every_value_has_the_bytes_of_its_rfc) {
  Object object;
  for (const Golden& row : golden)
    EXPECT_EQ(object.value_of(row.number), row.bytes) << rows()[row.number].name;
}

TEST(Table, every_readable_attribute_of_42_is_looked_at_here) {
  Bitmap seen{FATTR4_SUPPORTED_ATTRS, FATTR4_SUPPATTR_EXCLCREAT};
  for (const Golden& row : golden) seen.add(row.number);
  for (const Row& row : rows()) EXPECT_EQ(seen.has(row.number), row.put != nullptr) << row.name;
}

// Numbers from RFC 8881 sections 5.6 and 5.7, RFC 7862 section 12, RFC 8275, 8276 and 9754.
TEST(Table, what_is_supported_is_said_in_supported_attrs) {
  Object object;
  Bitmap expected;
  for (const Row& row : rows())
    if (row.put != nullptr || row.take != nullptr) expected.add(row.number);
  EXPECT_EQ(supported(object.source()), expected);
  EXPECT_EQ(object.value_of(FATTR4_SUPPORTED_ATTRS), "00000003 fdffbfff 40fdbe3e 0076bc06");
  object.source().minor = 0;
  EXPECT_EQ(object.value_of(FATTR4_SUPPORTED_ATTRS), "00000002 fdffbfff 00fdbe3e");
}

TEST(Table, required_attributes_are_supported_in_every_minor_version) {
  // RFC 7530 section 5.6, table 3, and suppattr_exclcreat of RFC 8881.
  const Bitmap required{FATTR4_SUPPORTED_ATTRS, FATTR4_TYPE,       FATTR4_FH_EXPIRE_TYPE,
                        FATTR4_CHANGE,          FATTR4_SIZE,       FATTR4_LINK_SUPPORT,
                        FATTR4_SYMLINK_SUPPORT, FATTR4_NAMED_ATTR, FATTR4_FSID,
                        FATTR4_UNIQUE_HANDLES,  FATTR4_LEASE_TIME, FATTR4_RDATTR_ERROR,
                        FATTR4_FILEHANDLE};
  Object object;
  object.source().limits = {};
  object.source().object = {};
  for (std::uint32_t minor = 0; minor <= 2; ++minor) {
    object.source().minor = minor;
    EXPECT_TRUE(required.within(supported(object.source()))) << minor;
    EXPECT_EQ(supported(object.source()).has(FATTR4_SUPPATTR_EXCLCREAT), minor > 0) << minor;
  }
}

TEST(Table, attributes_of_later_minor_versions_do_not_exist_in_earlier_ones) {
  for (std::uint32_t minor = 0; minor <= 2; ++minor) {
    const std::uint32_t last = minor == 0   ? FATTR4_MOUNTED_ON_FILEID
                               : minor == 1 ? FATTR4_FS_CHARSET_CAP
                                            : FATTR4_OPEN_ARGUMENTS;
    const Bitmap maps =
        supported_in(minor) | settable_by_setattr(minor) | settable_at_creation(minor) | write_only(minor);
    maps.for_each([&](std::uint32_t number) { EXPECT_LE(number, last); });
  }
}

TEST(Table, what_the_file_system_lacks_is_not_supported) {
  Object object;
  const auto lacking = [&](std::uint32_t number, auto take_away) {
    EXPECT_TRUE(supported(object.source()).has(number)) << rows()[number].name;
    take_away();
    EXPECT_FALSE(supported(object.source()).has(number)) << rows()[number].name;
    if (rows()[number].put != nullptr) {
      EXPECT_EQ(object.value_of(number), "left out");
    }
  };
  lacking(FATTR4_ACL, [&] { object.source().limits.acls = false; });
  lacking(FATTR4_TIME_CREATE, [&] { object.source().object.btime = {}; });
  lacking(FATTR4_CLONE_BLKSIZE, [&] { object.source().limits.clone_block_bytes = 0; });
  lacking(FATTR4_TIME_DELEG_ACCESS, [&] { object.server().delegated_times = false; });
  lacking(FATTR4_LAYOUT_BLKSIZE, [&] { object.source().limits.stripe_bytes = 0; });
  EXPECT_FALSE(supported(object.source()).has(FATTR4_FS_LAYOUT_TYPES));
  EXPECT_FALSE(supported(object.source()).has(FATTR4_LAYOUT_ALIGNMENT));
  object.source().limits.stripe_bytes = 0x100000;
  lacking(FATTR4_FS_LAYOUT_TYPES, [&] { object.server().layout_types.clear(); });
  EXPECT_FALSE(supported(object.source()).has(FATTR4_LAYOUT_BLKSIZE));
  EXPECT_EQ(object.value_of(FATTR4_ACLSUPPORT), "00000000");
}

TEST(Table, size_and_the_times_that_hold_the_verifier_are_not_set_at_exclusive_creation) {
  Object object;
  const Bitmap map = settable_at_exclusive_creation(2);
  EXPECT_TRUE(map.has(FATTR4_MODE) && map.has(FATTR4_MODE_UMASK));
  EXPECT_FALSE(map.has(FATTR4_SIZE) || map.has(FATTR4_TIME_ACCESS_SET) || map.has(FATTR4_TIME_MODIFY_SET));
  // Words 0 to 2: acl; mode, owner, owner_group; mode_umask.
  EXPECT_EQ(object.value_of(FATTR4_SUPPATTR_EXCLCREAT), "00000003 00001000 00000032 00020000");
}

TEST(Table, write_only_attributes_cannot_be_read) {
  Object object;
  EXPECT_TRUE(write_only(0).has(FATTR4_TIME_ACCESS_SET) && write_only(0).has(FATTR4_TIME_MODIFY_SET));
  EXPECT_FALSE(write_only(0).has(FATTR4_MODE_SET_MASKED));
  write_only(2).for_each([](std::uint32_t number) { EXPECT_EQ(rows()[number].put, nullptr); });
}

TEST(Table, values_are_in_the_order_of_their_numbers_whatever_was_asked_for) {
  Object object;
  std::array<std::byte, 64> memory{};
  FlatWriter out(memory);
  const Bitmap wanted{FATTR4_MODE, FATTR4_TYPE, FATTR4_NUMLINKS, FATTR4_ARCHIVE, FATTR4_TIME_ACCESS_SET, 95};
  EXPECT_EQ(encode(wanted, object.source(), out), (Bitmap{FATTR4_TYPE, FATTR4_MODE, FATTR4_NUMLINKS}));
  EXPECT_EQ(to_hex(out.written()), "00000005 00000fff 00000003");
}

TEST(Table, too_little_memory_is_noticed_and_not_exceeded) {
  Object object;
  const Bitmap everything = supported(object.source());
  const std::size_t needed = bytes_max(everything, object.source());
  for (std::size_t bytes = 0; bytes + 16 < needed; bytes += 4) {
    base::Bytes memory(bytes + 1, std::byte{0x5a});
    FlatWriter out(base::MutableBytes(memory).first(bytes));
    (void)encode(everything, object.source(), out);
    EXPECT_FALSE(out.ok());
    EXPECT_EQ(memory.back(), std::byte{0x5a});
  }
}

TEST(Table, facts_are_those_of_the_attributes) {
  EXPECT_EQ(facts_of(Bitmap{FATTR4_LEASE_TIME, FATTR4_FILEHANDLE}), Facts::none);
  EXPECT_EQ(facts_of(Bitmap{FATTR4_SIZE}), Facts::object);
  EXPECT_EQ(facts_of(Bitmap{FATTR4_SPACE_FREE}), Facts::space);
  EXPECT_EQ(facts_of(Bitmap{FATTR4_OWNER, FATTR4_MAXNAME}), Facts::object | Facts::owner | Facts::limits);
  EXPECT_EQ(facts_of(Bitmap{FATTR4_ACL}), Facts::object | Facts::limits | Facts::acl);
  EXPECT_EQ(facts_of(Bitmap{95}), Facts::none);
}

TEST(Bitmaps, words_beyond_the_known_ones_only_say_that_there_is_something_unknown) {
  const std::array<std::uint32_t, 5> quiet{1, 2, 4, 0, 0};
  const std::array<std::uint32_t, 5> loud{1, 2, 4, 0, 1};
  EXPECT_EQ(Bitmap::of_wire(quiet), (Bitmap{0, 33, 66}));
  EXPECT_FALSE(Bitmap::of_wire(quiet).has_unknown());
  EXPECT_TRUE(Bitmap::of_wire(loud).has_unknown());
  EXPECT_FALSE(Bitmap::of_wire(loud).within(supported_in(2) | (Bitmap{0, 33, 66})));
  EXPECT_FALSE((Bitmap::of_wire(loud) & Bitmap{0}).has_unknown());
  const std::vector<std::uint32_t> absurd(100'000, 0xffffffff);
  EXPECT_EQ(Bitmap::of_wire(absurd).count(), Bitmap::bits);
  EXPECT_TRUE(Bitmap::of_wire(absurd).has_unknown());
}

TEST(Bitmaps, no_words_of_zero_at_the_end_are_sent) {
  EXPECT_TRUE(Bitmap().wire().empty());
  EXPECT_EQ((Bitmap{0}).wire().size(), 1U);
  EXPECT_EQ((Bitmap{32}).wire().size(), 2U);
  EXPECT_EQ((Bitmap{95}).wire().size(), 3U);
}

TEST(Bitmaps, algebra_is_that_of_sets) {
  const Bitmap a{1, 40, 90};
  const Bitmap b{40, 41};
  EXPECT_EQ(a & b, Bitmap{40});
  EXPECT_EQ(a - b, (Bitmap{1, 90}));
  EXPECT_EQ(a | b, (Bitmap{1, 40, 41, 90}));
  EXPECT_TRUE(a.intersects(b));
  EXPECT_FALSE(a.within(b));
  EXPECT_TRUE((a & b).within(b));
  EXPECT_FALSE(a.has(96));
  std::string order;
  a.for_each([&](std::uint32_t number) { order += std::to_string(number) + " "; });
  EXPECT_EQ(order, "1 40 90 ");
}

}  // namespace
}  // namespace braid::nfs4::attributes
