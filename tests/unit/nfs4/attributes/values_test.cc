// Values that clients send: to be set, and to be compared.
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "nfs4/attributes/compare.h"
#include "nfs4/attributes/table.h"
#include "tests/unit/nfs4/attributes/bytes.h"

namespace braid::nfs4::attributes {
namespace {

using test::Fattr;
using enum nfsstat4;
using How = vfs::SetTime::How;

class Values : public ::testing::Test {
 protected:
  Values() {
    server_.delegated_times = true;
    server_.layout_types = {layouttype4::LAYOUT4_NFSV4_1_FILES};
    source_.minor = 2;
    source_.server = &server_;
    source_.object.btime = {1, 0};
    source_.object.type = vfs::FileType::regular;
    source_.object.size = 5;
    source_.object.uid = 1000;
    source_.owner = OwnerText::of_number(1000);
    source_.group = OwnerText::of_number(100);
    source_.limits.acls = true;
    source_.limits.stripe_bytes = 4096;
    source_.limits.clone_block_bytes = 4096;
    source_.handle = handle_;
  }
  base::Result<SetRequest, nfsstat4> decoded(const Bitmap& map, std::string_view values) {
    return decoded(Fattr(pool_, map, values));
  }
  base::Result<SetRequest, nfsstat4> decoded(const Fattr& attributes) {
    return decode_settable(attributes.wire, supported(source_), settable_, arena_);
  }
  nfsstat4 status_of_setting(const Bitmap& map, std::string_view values) {
    const auto request = decoded(map, values);
    return request ? NFS4_OK : request.error();
  }
  Result4<Comparison> compared(const Bitmap& map, std::string_view values) {
    const Fattr theirs(pool_, map, values);
    return compare(theirs.wire, source_, arena_);
  }
  bool same(const Bitmap& map, std::string_view values) {
    const auto comparison = compared(map, values);
    return comparison && comparison->same && !comparison->owner && !comparison->group;
  }

  io::SlabPool pool_{{.bytes_max = 8 * base::MiB, .huge_pages = false}};
  xdr::Arena arena_;
  ServerFacts server_;
  AttributeSource source_;
  Bitmap settable_ = settable_by_setattr(2) | settable_at_creation(2);
  static constexpr std::array<std::byte, 4> handle_{std::byte{9}, std::byte{8}, std::byte{7}, std::byte{6}};
};

struct Settable {
  std::uint32_t number;
  std::string bytes;
  bool (*kept)(const SetRequest&);
};

const std::array settables{
    Settable{FATTR4_SIZE, "00000001 00000002", [](const SetRequest& r) { return r.size == 0x100000002; }},
    Settable{FATTR4_ACL, "00000001 00000000 00000040 00000021 00000005 77686565 6c000000",
             [](const SetRequest& r) {
               return r.acl && r.acl->size() == 1 && r.acl->front() == nfsace4{0, 0x40, 0x21, "wheel"};
             }},
    Settable{FATTR4_MODE, "00000dff", [](const SetRequest& r) { return r.mode == 06777 && !r.umask; }},
    Settable{FATTR4_OWNER, "00000004 31303030", [](const SetRequest& r) { return r.owner == "1000"; }},
    Settable{FATTR4_OWNER_GROUP, "00000003 6f707300", [](const SetRequest& r) { return r.group == "ops"; }},
    Settable{FATTR4_TIME_ACCESS_SET, "00000001 ffffffff fffffffe 00000007",
             [](const SetRequest& r) {
               return r.atime.how == How::client && r.atime.value == vfs::Time{-2, 7} &&
                      r.mtime.how == How::leave;
             }},
    Settable{FATTR4_TIME_MODIFY_SET, "00000000",
             [](const SetRequest& r) { return r.mtime.how == How::server && r.atime.how == How::leave; }},
    Settable{FATTR4_MODE_SET_MASKED, "00000040 000001c0",
             [](const SetRequest& r) { return r.mode_masked == mode_masked4{0100, 0700} && !r.mode; }},
    Settable{FATTR4_MODE_UMASK, "000001b6 00000012",
             [](const SetRequest& r) { return r.mode == 0666 && r.umask == 022; }},
    Settable{FATTR4_TIME_DELEG_ACCESS, "00000000 00000001 00000002",
             [](const SetRequest& r) { return r.delegated_atime == vfs::Time{1, 2}; }},
    Settable{FATTR4_TIME_DELEG_MODIFY, "00000000 00000003 00000004",
             [](const SetRequest& r) { return r.delegated_mtime == vfs::Time{3, 4}; }},
};

TEST_F(Values, every_settable_attribute_arrives) {
  Bitmap seen;
  for (const Settable& row : settables) {
    const auto request = decoded(Bitmap{row.number}, row.bytes);
    ASSERT_TRUE(request) << rows()[row.number].name;
    EXPECT_TRUE(row.kept(*request)) << rows()[row.number].name;
    EXPECT_EQ(request->named, Bitmap{row.number});
    seen.add(row.number);
  }
  EXPECT_EQ(seen, settable_) << "every settable attribute has a row here";
}

TEST_F(Values, a_value_that_ends_early_or_late_is_badxdr) {
  for (const Settable& row : settables) {
    const base::Bytes whole = test::hex(row.bytes);
    const Bitmap map{row.number};
    const std::vector<std::uint32_t> words(map.wire().begin(), map.wire().end());
    for (std::size_t bytes = 0; bytes < whole.size(); bytes += 4) {
      const auto cut =
          decoded(Fattr(pool_, words, base::Bytes(whole.begin(), whole.begin() + std::ptrdiff_t(bytes))));
      EXPECT_EQ(cut ? NFS4_OK : cut.error(), NFS4ERR_BADXDR) << rows()[row.number].name << " " << bytes;
    }
    base::Bytes longer = whole;
    longer.resize(longer.size() + 4);
    const auto more = decoded(Fattr(pool_, words, longer));
    EXPECT_EQ(more ? NFS4_OK : more.error(), NFS4ERR_BADXDR) << rows()[row.number].name;
  }
}

TEST_F(Values, what_can_only_be_read_is_invalid_to_set) {
  for (const Row& row : rows()) {
    if (row.put == nullptr || row.take != nullptr) continue;
    EXPECT_EQ(status_of_setting(Bitmap{row.number}, ""), NFS4ERR_INVAL) << row.name;
  }
}

TEST_F(Values, what_is_not_supported_cannot_be_set) {
  for (const Row& row : rows()) {
    if (row.put != nullptr || row.take != nullptr) continue;
    EXPECT_EQ(status_of_setting(Bitmap{row.number}, ""), NFS4ERR_ATTRNOTSUPP) << row.name;
  }
  const auto beyond = decoded(Fattr(pool_, std::vector<std::uint32_t>{0, 0, 0, 1}, ""));
  EXPECT_EQ(beyond.error(), NFS4ERR_ATTRNOTSUPP);
  const auto zeros = decoded(Fattr(pool_, std::vector<std::uint32_t>(1000, 0), ""));
  EXPECT_TRUE(zeros) << "words of zero name nothing";
  source_.limits.acls = false;
  EXPECT_EQ(status_of_setting(Bitmap{FATTR4_ACL}, "00000000"), NFS4ERR_ATTRNOTSUPP);
  server_.delegated_times = false;
  EXPECT_EQ(status_of_setting(Bitmap{FATTR4_TIME_DELEG_ACCESS}, "00000000 00000001 00000002"),
            NFS4ERR_ATTRNOTSUPP);
}

TEST_F(Values, setattr_knows_no_umask_and_creation_no_masked_mode) {
  settable_ = settable_by_setattr(2);
  EXPECT_EQ(status_of_setting(Bitmap{FATTR4_MODE_UMASK}, "000001b6 00000012"), NFS4ERR_INVAL);
  settable_ = settable_at_creation(2);
  EXPECT_EQ(status_of_setting(Bitmap{FATTR4_MODE_SET_MASKED}, "00000040 000001c0"), NFS4ERR_INVAL);
  EXPECT_EQ(status_of_setting(Bitmap{FATTR4_TIME_DELEG_ACCESS}, "00000000 00000001 00000002"), NFS4ERR_INVAL);
  settable_ = settable_at_exclusive_creation(2);
  EXPECT_EQ(status_of_setting(Bitmap{FATTR4_TIME_MODIFY_SET}, "00000000"), NFS4ERR_INVAL);
}

TEST_F(Values, impossible_values_are_invalid) {
  EXPECT_EQ(status_of_setting(Bitmap{FATTR4_MODE}, "00001000"), NFS4ERR_INVAL) << "an undefined bit";
  EXPECT_EQ(status_of_setting(Bitmap{FATTR4_MODE_UMASK}, "000001b6 00000200"), NFS4ERR_INVAL);
  EXPECT_EQ(status_of_setting(Bitmap{FATTR4_MODE_SET_MASKED}, "00000000 00001000"), NFS4ERR_INVAL);
  EXPECT_EQ(status_of_setting(Bitmap{FATTR4_TIME_ACCESS_SET}, "00000001 00000000 00000000 3b9aca00"),
            NFS4ERR_INVAL)
      << "a second of nanoseconds";
  EXPECT_EQ(status_of_setting(Bitmap{FATTR4_TIME_ACCESS_SET}, "00000002"), NFS4ERR_BADXDR) << "no time_how4";
  EXPECT_EQ(status_of_setting(Bitmap{FATTR4_MODE, FATTR4_MODE_UMASK}, "000001b6 000001b6 00000012"),
            NFS4ERR_INVAL)
      << "two ways of setting the mode";
  EXPECT_EQ(status_of_setting(Bitmap{FATTR4_OWNER}, "ffffffff 31303030"), NFS4ERR_BADXDR);
  EXPECT_EQ(status_of_setting(Bitmap{FATTR4_ACL}, "ffffffff"), NFS4ERR_BADXDR);
}

TEST_F(Values, several_values_are_taken_in_the_order_of_their_numbers) {
  const auto request = decoded(Bitmap{FATTR4_TIME_MODIFY_SET, FATTR4_MODE, FATTR4_SIZE},
                               "00000000 00000009  000001a4  00000000");
  ASSERT_TRUE(request);
  EXPECT_EQ(request->size, 9U);
  EXPECT_EQ(request->mode, 0644U);
  EXPECT_EQ(request->mtime.how, How::server);
}

TEST_F(Values, an_acl_that_needs_more_memory_than_there_is_comes_later) {
  xdr::Arena small(16);
  const Fattr acl(pool_, Bitmap{FATTR4_ACL}, "00000001 00000000 00000040 00000021 00000001 77000000");
  const auto request = decode_settable(acl.wire, supported(source_), settable_, small);
  EXPECT_EQ(request.error(), NFS4ERR_DELAY);
}

TEST_F(Values, values_that_are_the_same_compare_as_such) {
  Bitmap everything = supported(source_) - write_only(2) - Bitmap{FATTR4_RDATTR_ERROR};
  base::Bytes memory(bytes_max(everything, source_));
  FlatWriter out(memory);
  ASSERT_EQ(encode(everything, source_, out), everything);
  EXPECT_TRUE(same(everything, test::to_hex(out.written())));
}

TEST_F(Values, every_other_value_is_different) {
  const Bitmap everything = supported(source_) - write_only(2) - Bitmap{FATTR4_RDATTR_ERROR};
  everything.for_each([&](std::uint32_t number) {
    base::Bytes memory(bytes_max(Bitmap{number}, source_));
    FlatWriter out(memory);
    (void)encode(Bitmap{number}, source_, out);
    memory.resize(out.size());
    // Not in the padding.
    const bool text = number == FATTR4_OWNER || number == FATTR4_OWNER_GROUP;
    memory[text ? 4 : memory.size() - 1] ^= std::byte{0x10};
    EXPECT_FALSE(same(Bitmap{number}, test::to_hex(memory))) << rows()[number].name;
  });
}

TEST_F(Values, owners_written_otherwise_are_left_to_be_resolved) {
  const auto other =
      compared(Bitmap{FATTR4_OWNER, FATTR4_OWNER_GROUP}, "00000003 6f407800 00000003 31303000");
  ASSERT_TRUE(other);
  EXPECT_TRUE(other->same);
  EXPECT_EQ(other->owner, "o@x");
  EXPECT_FALSE(other->group);
}

TEST_F(Values, bitmaps_compare_as_sets) {
  const Bitmap what{FATTR4_SUPPATTR_EXCLCREAT};
  const Bitmap value = settable_at_exclusive_creation(2) & supported(source_);
  std::string words = "00000005";
  for (const std::uint32_t word : value.wire()) {
    std::array<std::byte, 4> bytes{};
    FlatWriter out(bytes);
    out.u32(word);
    words += test::to_hex(bytes);
  }
  EXPECT_TRUE(same(what, words + "00000000 00000000"));
  EXPECT_FALSE(same(what, words + "00000000 00000001"));
}

TEST_F(Values, values_that_are_not_those_of_the_bitmap_are_badxdr) {
  EXPECT_EQ(compared(Bitmap{FATTR4_SIZE}, "00000000").error(), NFS4ERR_BADXDR);
  EXPECT_EQ(compared(Bitmap{FATTR4_SIZE}, "00000000 00000005 00000000").error(), NFS4ERR_BADXDR);
  EXPECT_TRUE(same(Bitmap{FATTR4_SIZE}, "00000000 00000005"));
  const auto shorter = compared(Bitmap{FATTR4_FILEHANDLE}, "00000001 09000000");
  ASSERT_TRUE(shorter);
  EXPECT_FALSE(shorter->same) << "another handle, not a broken one";
}

}  // namespace
}  // namespace braid::nfs4::attributes
