// Our bytes against libnfs: its generated XDR decodes and encodes every message that ours does.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "nfs3/nfs3.x.h"
#include "tests/unit/xdr/protocol_types.h"
#include "tests/unit/xdr/random_wire.h"
#include "tests/unit/xdr/wire.h"

// Behind ours: libnfs has macros where we have constants of the same names.
// clang-format off
#include <nfsc/libnfs-raw-nfs.h>
// clang-format on

namespace braid::xdr_tests {
namespace {

using Routine = std::uint32_t (*)(ZDR*, void*);

// Larger than every struct of libnfs.
using Room = std::array<std::uint64_t, 4096>;

// A message in libnfs; what it points to lives as long.
class Decoded {
 public:
  Decoded(base::Bytes bytes, Routine routine) : bytes_(std::move(bytes)), routine_(routine) {
    // libnfs looks one byte behind a string for its end.
    bytes_.push_back(std::byte{0});
    zdrmem_create(&stream_, data(bytes_), size(), ZDR_DECODE);
    whole_ = routine_(&stream_, room_.data()) != 0 && zdr_getpos(&stream_) == size();
  }
  Decoded(const Decoded&) = delete;
  Decoded& operator=(const Decoded&) = delete;
  ~Decoded() { zdr_destroy(&stream_); }

  [[nodiscard]] bool whole() const { return whole_; }
  template <class T>
  const T& as() const {
    return *reinterpret_cast<const T*>(room_.data());
  }
  base::Bytes encoded() {
    base::Bytes out(bytes_.size() + 64);
    ZDR stream;
    zdrmem_create(&stream, data(out), static_cast<std::uint32_t>(out.size()), ZDR_ENCODE);
    out.resize(routine_(&stream, room_.data()) != 0 ? zdr_getpos(&stream) : 0);
    zdr_destroy(&stream);
    return out;
  }

 private:
  static char* data(base::Bytes& bytes) { return reinterpret_cast<char*>(bytes.data()); }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(bytes_.size() - 1); }

  base::Bytes bytes_;
  Routine routine_;
  Room room_{};
  ZDR stream_{};
  bool whole_ = false;
};

// libnfs allocates list nodes without regard to their alignment.
template <class T>
T copy_of(const T* misaligned) {
  T copy;
  std::memcpy(static_cast<void*>(&copy), static_cast<const void*>(misaligned), sizeof(T));
  return copy;
}

Routine routine_of(const std::string& type) {
  return reinterpret_cast<Routine>(::dlsym(RTLD_DEFAULT, ("zdr_" + type).c_str()));
}

class LibnfsTest : public testing::Test {
 protected:
  template <class T>
  base::Bytes ours(const T& value) {
    return memory_.encoded([&](xdr::Encoder& out) { encode(out, value); });
  }
  // How many types of the file libnfs has too; each is compared.
  int compare_all(const std::string& include_as) {
    const xdrc::Schema schema = schema_of(include_as);
    RandomWire random(schema, 7);
    int compared = 0;
    for (const ProtocolType& type : types_of(include_as)) {
      const Routine routine = routine_of(type.name);
      if (routine == nullptr) continue;
      ++compared;
      const auto* record = std::get_if<xdrc::Struct>(&schema.find(type.name)->definition->body);
      const bool node = record != nullptr && record->list_node;
      for (int i = 0; i < 40; ++i) {
        base::Bytes bytes = random.message(type.name);
        // libnfs codes a list node with its pointer to the next: none.
        if (node) bytes.resize(bytes.size() + 4);
        Decoded theirs(bytes, routine);
        EXPECT_TRUE(theirs.whole()) << type.name << " " << hex_of(bytes);
        EXPECT_EQ(hex_of(theirs.encoded()), hex_of(bytes)) << type.name;
        if (testing::Test::HasFailure()) return compared;
      }
    }
    return compared;
  }
  Memory memory_;
};

TEST_F(LibnfsTest, decodes_and_encodes_every_nfs3_message) { EXPECT_GT(compare_all("nfs3/nfs3.x"), 110); }

TEST_F(LibnfsTest, decodes_and_encodes_every_mount3_message) { EXPECT_EQ(compare_all("nfs3/mount3.x"), 6); }

TEST_F(LibnfsTest, finds_the_fields_of_attributes_where_ours_are) {
  const nfs3::fattr3 attributes{.type = nfs3::ftype3::NF3LNK,
                                .mode = 0640,
                                .nlink = 3,
                                .uid = 4,
                                .gid = 5,
                                .size = 6,
                                .used = 7,
                                .rdev = {.specdata1 = 8, .specdata2 = 9},
                                .fsid = 10,
                                .fileid = 11,
                                .atime = {.seconds = 12, .nseconds = 13},
                                .mtime = {.seconds = 14, .nseconds = 15},
                                .ctime = {.seconds = 16, .nseconds = 17}};
  const Decoded decoded(ours(nfs3::GETATTR3res::with_resok({.obj_attributes = attributes})),
                        routine_of("GETATTR3res"));
  ASSERT_TRUE(decoded.whole());
  const auto& theirs = decoded.as<::GETATTR3res>();
  ASSERT_EQ(theirs.status, ::NFS3_OK);
  const ::fattr3& there = theirs.GETATTR3res_u.resok.obj_attributes;
  EXPECT_EQ(there.type, ::NF3LNK);
  EXPECT_EQ(there.mode, 0640U);
  EXPECT_EQ(there.nlink, 3U);
  EXPECT_EQ(there.uid, 4U);
  EXPECT_EQ(there.gid, 5U);
  EXPECT_EQ(there.size, 6U);
  EXPECT_EQ(there.used, 7U);
  EXPECT_EQ(there.rdev.specdata1, 8U);
  EXPECT_EQ(there.rdev.specdata2, 9U);
  EXPECT_EQ(there.fsid, 10U);
  EXPECT_EQ(there.fileid, 11U);
  EXPECT_EQ(there.atime.seconds, 12U);
  EXPECT_EQ(there.mtime.nseconds, 15U);
  EXPECT_EQ(there.ctime.nseconds, 17U);
}

TEST_F(LibnfsTest, finds_the_fields_of_a_write_where_ours_are) {
  const io::Payload data = memory_.payload(base::bytes_of("0123456789"), {3});
  const nfs3::WRITE3args args{.file = {.data = base::bytes_of("handle")},
                              .offset = 0x100000002,
                              .count = 10,
                              .stable = nfs3::stable_how::DATA_SYNC,
                              .data = data};
  const Decoded decoded(ours(args), routine_of("WRITE3args"));
  ASSERT_TRUE(decoded.whole());
  const auto& theirs = decoded.as<::WRITE3args>();
  EXPECT_EQ(std::string(theirs.file.data.data_val, theirs.file.data.data_len), "handle");
  EXPECT_EQ(theirs.offset, 0x100000002U);
  EXPECT_EQ(theirs.count, 10U);
  EXPECT_EQ(theirs.stable, ::DATA_SYNC);
  EXPECT_EQ(std::string(theirs.data.data_val, theirs.data.data_len), "0123456789");
}

TEST_F(LibnfsTest, finds_the_fields_of_a_creation_where_ours_are) {
  const nfs3::sattr3 attributes{.mode = nfs3::set_mode3::with_mode(0600),
                                .uid = {},
                                .gid = nfs3::set_gid3::with_gid(7),
                                .size = {},
                                .atime = nfs3::set_atime::with_atime({.seconds = 1, .nseconds = 2}),
                                .mtime = nfs3::set_mtime::with_default(nfs3::time_how::SET_TO_SERVER_TIME)};
  const nfs3::CREATE3args args{
      .where = {.dir = {.data = base::bytes_of("d")}, .name = "file"},
      .how = nfs3::createhow3::with_obj_attributes(nfs3::createmode3::GUARDED, attributes)};
  const Decoded decoded(ours(args), routine_of("CREATE3args"));
  ASSERT_TRUE(decoded.whole());
  const auto& theirs = decoded.as<::CREATE3args>();
  EXPECT_STREQ(theirs.where.name, "file");
  ASSERT_EQ(theirs.how.mode, ::GUARDED);
  const ::sattr3& there = theirs.how.createhow3_u.g_obj_attributes;
  EXPECT_EQ(there.mode.set_it, 1U);
  EXPECT_EQ(there.mode.set_mode3_u.mode, 0600U);
  EXPECT_EQ(there.uid.set_it, 0U);
  EXPECT_EQ(there.gid.set_gid3_u.gid, 7U);
  EXPECT_EQ(there.size.set_it, 0U);
  EXPECT_EQ(there.atime.set_it, ::SET_TO_CLIENT_TIME);
  EXPECT_EQ(there.atime.set_atime_u.atime.nseconds, 2U);
  EXPECT_EQ(there.mtime.set_it, ::SET_TO_SERVER_TIME);
}

TEST_F(LibnfsTest, walks_the_entries_of_a_directory_that_we_list) {
  const std::vector<nfs3::entryplus3> entries{
      {.fileid = 1, .name = ".", .cookie = 10, .name_attributes = {}, .name_handle = {}},
      {.fileid = 2,
       .name = "a longer name",
       .cookie = 20,
       .name_attributes = {},
       .name_handle = nfs3::post_op_fh3::with_handle({.data = base::bytes_of("handle")})}};
  const nfs3::READDIRPLUS3resok result{
      .dir_attributes = {}, .cookieverf = {std::byte{9}}, .reply = {.entries = entries, .eof = true}};
  const Decoded decoded(ours(nfs3::READDIRPLUS3res::with_resok(result)), routine_of("READDIRPLUS3res"));
  ASSERT_TRUE(decoded.whole());
  const ::READDIRPLUS3resok& theirs = decoded.as<::READDIRPLUS3res>().READDIRPLUS3res_u.resok;
  EXPECT_EQ(theirs.cookieverf[0], 9);
  EXPECT_NE(theirs.reply.eof, 0U);
  ASSERT_NE(theirs.reply.entries, nullptr);
  const ::entryplus3 first = copy_of(theirs.reply.entries);
  EXPECT_EQ(first.fileid, 1U);
  EXPECT_STREQ(first.name, ".");
  ASSERT_NE(first.nextentry, nullptr);
  const ::entryplus3 second = copy_of(first.nextentry);
  EXPECT_EQ(second.cookie, 20U);
  EXPECT_STREQ(second.name, "a longer name");
  EXPECT_EQ(second.name_handle.handle_follows, 1U);
  EXPECT_EQ(second.nextentry, nullptr);
}

}  // namespace
}  // namespace braid::xdr_tests
