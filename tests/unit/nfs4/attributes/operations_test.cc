// GETATTR, SETATTR, VERIFY, NVERIFY and READDIR in whole COMPOUNDs over a real directory.
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "nfs4/attributes/table.h"
#include "tests/unit/nfs4/attributes/bytes.h"
#include "tests/unit/nfs4/support/world.h"

namespace braid::nfs4::test {
namespace {

using enum nfs_opnum4;
using enum nfsstat4;

const Bitmap set_times{FATTR4_TIME_ACCESS_SET, FATTR4_TIME_MODIFY_SET};

struct Entry {
  std::uint64_t cookie = 0;
  std::string name;
  Bitmap mask;
  std::string values;  // hexadecimal
};
struct Page {
  nfsstat4 status = NFS4_OK;
  std::vector<Entry> entries;
  bool eof = false;
  std::size_t bytes = 0;  // of READDIR4resok
};

class Operations : public ::testing::Test {
 protected:
  explicit Operations(std::vector<ExportSpec> exports = {ExportSpec{}}) : world_({}, exports) {}

  Request at(std::initializer_list<std::string_view> names) {
    Request request = client_->request();
    request.add(OP_PUTROOTFH);
    for (const std::string_view name : names) request.add(OP_LOOKUP, LOOKUP4args{name});
    return request;
  }
  Reply send(const Request& request, std::size_t lookups) {
    Reply reply = client_->send(request);
    EXPECT_EQ(reply.status_of(OP_PUTROOTFH), NFS4_OK);
    for (std::size_t i = 0; i < lookups; ++i) EXPECT_EQ(reply.status_of(OP_LOOKUP), NFS4_OK);
    return reply;
  }
  // The values of one GETATTR; the mask of what there was goes to `done`.
  std::string getattr(std::initializer_list<std::string_view> names, const Bitmap& wanted,
                      Bitmap* done = nullptr) {
    Reply reply = send(at(names).add(OP_GETATTR, GETATTR4args{wanted.wire()}), names.size());
    const auto res = reply.result<GETATTR4res>(OP_GETATTR);
    if (res.resok4() == nullptr) return std::string(name_of(res.status));
    const fattr4& got = res.resok4()->obj_attributes;
    if (done != nullptr) *done = Bitmap::of_wire(got.attrmask);
    base::Bytes bytes(got.attr_vals.size());
    got.attr_vals.in_memory().value().copy_to(0, bytes);
    return to_hex(bytes);
  }
  nfsstat4 getattr_status(const Bitmap& wanted) {
    return client_->send(at({}).add(OP_GETATTR, GETATTR4args{wanted.wire()})).status();
  }
  SETATTR4res setattr(std::initializer_list<std::string_view> names, const Bitmap& map,
                      std::string_view values) {
    const Fattr attributes(slabs_, map, values);
    SETATTR4args args;
    args.obj_attributes = attributes.wire;
    last_ = send(at(names).add(OP_SETATTR, args), names.size());
    return last_.result<SETATTR4res>(OP_SETATTR);
  }
  template <class Args>
  nfsstat4 compare(nfs_opnum4 op, std::string_view name, const Bitmap& map, std::string_view values) {
    const Fattr attributes(slabs_, map, values);
    return client_->send(at({name}).add(op, Args{attributes.wire})).status();
  }
  nfsstat4 verify(std::string_view name, const Bitmap& map, std::string_view values) {
    return compare<VERIFY4args>(OP_VERIFY, name, map, values);
  }
  nfsstat4 nverify(std::string_view name, const Bitmap& map, std::string_view values) {
    return compare<NVERIFY4args>(OP_NVERIFY, name, map, values);
  }
  Page readdir(std::initializer_list<std::string_view> names, const READDIR4args& args) {
    Reply reply = client_->send(at(names).add(OP_READDIR, args));
    Page page;
    page.status = reply.status();
    if (page.status != NFS4_OK) return page;
    EXPECT_EQ(reply.status_of(OP_PUTROOTFH), NFS4_OK);
    for (std::size_t i = 0; i < names.size(); ++i) EXPECT_EQ(reply.status_of(OP_LOOKUP), NFS4_OK);
    const auto res = reply.result<READDIR4res>(OP_READDIR);
    page.bytes = encoded_size(*res.resok4());
    page.eof = res.resok4()->reply.eof;
    for (const entry4& entry : res.resok4()->reply.entries)
      page.entries.push_back({entry.cookie, std::string(entry.name), Bitmap::of_wire(entry.attrs.attrmask),
                              to_hex(entry.attrs.attr_vals)});
    return page;
  }
  // A whole listing, page by page.
  std::vector<Entry> list(std::initializer_list<std::string_view> names, const Bitmap& wanted,
                          std::uint32_t maxcount) {
    std::vector<Entry> all;
    READDIR4args args;
    args.maxcount = maxcount;
    args.attr_request = wanted.wire();
    while (true) {
      const Page page = readdir(names, args);
      EXPECT_EQ(page.status, NFS4_OK);
      EXPECT_LE(page.bytes, maxcount);
      all.insert(all.end(), page.entries.begin(), page.entries.end());
      if (page.eof || page.entries.empty()) return all;
      args.cookie = page.entries.back().cookie;
    }
  }
  static std::set<std::string> names_of(const std::vector<Entry>& entries) {
    std::set<std::string> names;
    for (const Entry& entry : entries) EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    return names;
  }
  [[nodiscard]] struct stat stat_of(std::string_view name) const {
    struct stat out{};
    EXPECT_EQ(::lstat((world_.directory() + "/" + std::string(name)).c_str(), &out), 0);
    return out;
  }

  io::SlabPool& slabs_ = test_slabs();
  World world_;
  std::optional<SessionClient> client_{std::in_place, world_, 2, "client"};
  Reply last_;
};

TEST_F(Operations, getattr_tells_what_the_file_is) {
  world_.write_local("file", "12345");
  ::chmod((world_.directory() + "/file").c_str(), 0640);
  EXPECT_EQ(getattr({"file"}, Bitmap{FATTR4_TYPE, FATTR4_SIZE, FATTR4_MODE, FATTR4_NUMLINKS}),
            "00000001 00000000 00000005 000001a0 00000001");
  EXPECT_EQ(getattr({"file"}, Bitmap{FATTR4_OWNER, FATTR4_OWNER_GROUP}),
            "00000001 30000000 00000001 30000000");
}

TEST_F(Operations, getattr_leaves_out_what_it_does_not_have_and_refuses_what_is_write_only) {
  Bitmap done;
  EXPECT_EQ(getattr({}, Bitmap{FATTR4_TYPE, FATTR4_MIMETYPE, FATTR4_DACL, 95}, &done), "00000002");
  EXPECT_EQ(done, Bitmap{FATTR4_TYPE});
  EXPECT_EQ(getattr({}, Bitmap{}, &done), "");
  EXPECT_TRUE(done.empty());
  EXPECT_EQ(getattr_status(Bitmap{FATTR4_SIZE, FATTR4_TIME_ACCESS_SET}), NFS4ERR_INVAL);
  EXPECT_EQ(getattr_status(Bitmap{FATTR4_MODE_UMASK}), NFS4ERR_INVAL);
}

TEST_F(Operations, getattr_of_everything_answers_with_everything_that_is_supported) {
  world_.write_local("file", "");
  const std::string said = getattr({"file"}, Bitmap{FATTR4_SUPPORTED_ATTRS});
  Bitmap everything;
  for (const attributes::Row& row : attributes::rows())
    if (row.use != attributes::Use::write) everything.add(row.number);
  Bitmap done;
  (void)getattr({"file"}, everything, &done);
  std::array<std::byte, 16> memory{};
  FlatWriter out(memory);
  // What can only be set is supported, too.
  const Bitmap supported =
      done | set_times |
      Bitmap{FATTR4_MODE_SET_MASKED, FATTR4_MODE_UMASK, FATTR4_TIME_DELEG_ACCESS, FATTR4_TIME_DELEG_MODIFY};
  out.u32(static_cast<std::uint32_t>(supported.wire().size()));
  for (const std::uint32_t word : supported.wire()) out.u32(word);
  EXPECT_EQ(said, to_hex(out.written()));
  EXPECT_TRUE(done.has(FATTR4_ACL) && done.has(FATTR4_TIME_CREATE) && done.has(FATTR4_XATTR_SUPPORT));
}

TEST_F(Operations, the_change_attribute_is_another_one_after_every_change) {
  std::set<std::string> seen;
  for (int i = 0; i < 50; ++i) {
    world_.write_local("file", std::string(static_cast<std::size_t>(i), 'x'));
    EXPECT_EQ(setattr({"file"}, Bitmap{FATTR4_MODE}, "000001a4").status, NFS4_OK);
    EXPECT_TRUE(seen.insert(getattr({"file"}, Bitmap{FATTR4_CHANGE})).second) << i;
  }
}

TEST_F(Operations, setattr_sets_and_says_what_it_has_set) {
  world_.write_local("file", "12345");
  const auto mode = setattr({"file"}, Bitmap{FATTR4_MODE}, "00000180");
  EXPECT_EQ(mode.status, NFS4_OK);
  EXPECT_EQ(Bitmap::of_wire(mode.attrsset), Bitmap{FATTR4_MODE});
  EXPECT_EQ(stat_of("file").st_mode & 07777U, 0600U);
  const Bitmap several{FATTR4_SIZE, FATTR4_MODE, FATTR4_OWNER, FATTR4_OWNER_GROUP, FATTR4_TIME_MODIFY_SET};
  const auto res = setattr({"file"}, several,
                           "00000000 00000002 000001a4 00000004 31303030 00000002 31300000"
                           " 00000001 00000000 00000007 00000008");
  EXPECT_EQ(res.status, NFS4_OK);
  EXPECT_EQ(Bitmap::of_wire(res.attrsset), several);
  const struct stat now = stat_of("file");
  EXPECT_EQ(now.st_size, 2);
  EXPECT_EQ(now.st_uid, 1000U);
  EXPECT_EQ(now.st_gid, 10U);
  EXPECT_EQ(now.st_mode & 07777U, 0644U);
  EXPECT_EQ(now.st_mtim.tv_sec, 7);
  EXPECT_EQ(now.st_mtim.tv_nsec, 8);
}

TEST_F(Operations, setattr_changes_single_bits_of_the_mode) {
  world_.write_local("file", "");
  ::chmod((world_.directory() + "/file").c_str(), 0640);
  EXPECT_EQ(setattr({"file"}, Bitmap{FATTR4_MODE_SET_MASKED}, "000001c1 00000041").status, NFS4_OK);
  EXPECT_EQ(stat_of("file").st_mode & 07777U, 0741U) << "0100 and 0001 were in the mask, 0200 and 0400 not";
}

// Executed again it would cut what others have written meanwhile.
TEST_F(Operations, setattr_that_has_cut_a_file_asks_for_no_repetition) {
  vfs::FaultyFileSystem& files = world_.watched();
  world_.write_local("file", "12345");
  const auto cut_and_set_mode = [&] {
    return setattr({"file"}, Bitmap{FATTR4_SIZE, FATTR4_MODE}, "00000000 00000002 000001a4");
  };
  files.inject({.operation = vfs::Operation::set, .error = vfs::Error::delay});
  const auto nothing = cut_and_set_mode();
  EXPECT_EQ(nothing.status, NFS4ERR_DELAY) << "nothing was done";
  EXPECT_TRUE(nothing.attrsset.empty());
  files.inject({.operation = vfs::Operation::setattr, .error = vfs::Error::delay});
  const auto half = cut_and_set_mode();
  EXPECT_EQ(half.status, NFS4ERR_IO);
  EXPECT_EQ(Bitmap::of_wire(half.attrsset), Bitmap{FATTR4_SIZE});
  EXPECT_EQ(stat_of("file").st_size, 2);
}

TEST_F(Operations, setattr_that_fails_says_what_it_has_done) {
  world_.write_local("file", "12345");
  const auto res = setattr({"file"}, Bitmap{FATTR4_SIZE, FATTR4_ACL},
                           "00000000 00000000 00000001 00000003 00000000 00000001"
                           "00000009 45564552 594f4e45 40000000");
  EXPECT_EQ(res.status, NFS4ERR_ATTRNOTSUPP) << "an alarm ACE";
  EXPECT_TRUE(res.attrsset.empty());
  EXPECT_EQ(stat_of("file").st_size, 5) << "what cannot be done as a whole is not begun";
  EXPECT_EQ(setattr({"file"}, Bitmap{FATTR4_TYPE}, "00000001").status, NFS4ERR_INVAL);
  EXPECT_EQ(setattr({"file"}, Bitmap{FATTR4_HIDDEN}, "00000001").status, NFS4ERR_ATTRNOTSUPP);
  EXPECT_EQ(setattr({"file"}, Bitmap{FATTR4_OWNER}, "00000006 6e6f626f 64790000").status, NFS4ERR_BADOWNER);
  EXPECT_EQ(setattr({"file"}, Bitmap{FATTR4_OWNER}, "00000000").status, NFS4ERR_INVAL);
  EXPECT_EQ(setattr({"file"}, Bitmap{FATTR4_OWNER_GROUP}, "00000000").status, NFS4ERR_INVAL);
  EXPECT_EQ(setattr({"file"}, Bitmap{FATTR4_MODE}, "").status, NFS4ERR_BADXDR);
  EXPECT_EQ(setattr({"file"}, Bitmap{}, "").status, NFS4_OK);
}

TEST_F(Operations, only_regular_files_have_a_size_to_set) {
  std::filesystem::create_directory(world_.directory() + "/d");
  std::filesystem::create_symlink("x", world_.directory() + "/l");
  EXPECT_EQ(setattr({"d"}, Bitmap{FATTR4_SIZE}, "00000000 00000000").status, NFS4ERR_ISDIR);
  EXPECT_EQ(setattr({"l"}, Bitmap{FATTR4_SIZE}, "00000000 00000000").status, NFS4ERR_INVAL);
}

TEST_F(Operations, an_acl_is_set_and_read_back) {
  world_.write_local("file", "");
  const Bitmap acl{FATTR4_ACL};
  // allow 1000 to read and write; allow everyone to read.
  const std::string values =
      "00000002 00000000 00000000 00000007 00000004 31303030"
      " 00000000 00000000 00000001 00000009 45564552 594f4e45 40000000";
  const auto res = setattr({"file"}, acl, values);
  ASSERT_EQ(res.status, NFS4_OK);
  EXPECT_EQ(Bitmap::of_wire(res.attrsset), acl);
  const std::string got = getattr({"file"}, acl);
  EXPECT_NE(got.find("00000004 31303030"), std::string::npos) << "a user's entry: " << got;
  EXPECT_EQ(verify("file", acl, got), NFS4_OK);
  EXPECT_EQ(getattr({"file"}, Bitmap{FATTR4_ACLSUPPORT}), "00000003");
}

TEST_F(Operations, verify_and_nverify_are_opposites) {
  world_.write_local("file", "12345");
  EXPECT_EQ(verify("file", Bitmap{FATTR4_SIZE}, "00000000 00000005"), NFS4_OK);
  EXPECT_EQ(nverify("file", Bitmap{FATTR4_SIZE}, "00000000 00000005"), NFS4ERR_SAME);
  EXPECT_EQ(verify("file", Bitmap{FATTR4_SIZE}, "00000000 00000006"), NFS4ERR_NOT_SAME);
  EXPECT_EQ(nverify("file", Bitmap{FATTR4_SIZE}, "00000000 00000006"), NFS4_OK);
}

TEST_F(Operations, verify_refuses_what_cannot_be_compared) {
  world_.write_local("file", "");
  EXPECT_EQ(verify("file", Bitmap{FATTR4_TIME_MODIFY_SET}, "00000000"), NFS4ERR_INVAL);
  EXPECT_EQ(nverify("file", Bitmap{FATTR4_RDATTR_ERROR}, "00000000"), NFS4ERR_INVAL);
  EXPECT_EQ(verify("file", Bitmap{FATTR4_ARCHIVE}, "00000000"), NFS4ERR_ATTRNOTSUPP);
  EXPECT_EQ(verify("file", Bitmap{95}, "00000000"), NFS4ERR_ATTRNOTSUPP);
  EXPECT_EQ(verify("file", Bitmap{FATTR4_SIZE}, "00000000"), NFS4ERR_BADXDR);
}

TEST_F(Operations, what_getattr_says_verifies) {
  world_.write_local("file", "12345");
  Bitmap readable;
  for (const attributes::Row& row : attributes::rows())
    if (row.put != nullptr && row.number != FATTR4_RDATTR_ERROR) readable.add(row.number);
  // These change by themselves on a file system that others use.
  readable = readable - Bitmap{FATTR4_SPACE_AVAIL, FATTR4_SPACE_FREE, FATTR4_FILES_AVAIL, FATTR4_FILES_FREE};
  Bitmap done;
  const std::string values = getattr({"file"}, readable, &done);
  EXPECT_EQ(verify("file", done, values), NFS4_OK);
}

TEST_F(Operations, readdir_lists_every_name_once_whatever_the_size_of_its_pages) {
  std::set<std::string> expected;
  for (int i = 0; i < 200; ++i) {
    expected.insert("file" + std::to_string(i));
    world_.write_local("file" + std::to_string(i), "");
  }
  const Bitmap wanted{FATTR4_TYPE, FATTR4_FILEID, FATTR4_OWNER, FATTR4_FILEHANDLE};
  for (const std::uint32_t maxcount : {300U, 1000U, 8192U, 1U << 20U}) {
    const auto entries = list({}, wanted, maxcount);
    EXPECT_EQ(names_of(entries), expected) << maxcount;
    for (const Entry& entry : entries) {
      EXPECT_EQ(entry.mask, wanted);
      EXPECT_GT(entry.cookie, 2U) << "0, 1 and 2 are reserved";
    }
  }
}

TEST_F(Operations, attributes_of_entries_are_those_of_getattr) {
  world_.write_local("a", "123");
  std::filesystem::create_directory(world_.directory() + "/b");
  const Bitmap wanted{FATTR4_TYPE,   FATTR4_CHANGE, FATTR4_SIZE,  FATTR4_FSID, FATTR4_FILEHANDLE,
                      FATTR4_FILEID, FATTR4_MODE,   FATTR4_OWNER, FATTR4_ACL,  FATTR4_MOUNTED_ON_FILEID};
  const auto entries = list({}, wanted, 4096);
  ASSERT_EQ(entries.size(), 2U);
  for (const Entry& entry : entries) {
    Bitmap done;
    EXPECT_EQ(entry.values, getattr({entry.name}, wanted, &done));
    EXPECT_EQ(entry.mask, done);
  }
}

TEST_F(Operations, the_limit_of_a_reply_is_exact) {
  READDIR4args args;
  args.maxcount = 15;
  EXPECT_EQ(readdir({}, args).status, NFS4ERR_TOOSMALL);
  args.maxcount = 16;
  const Page empty = readdir({}, args);
  EXPECT_EQ(empty.status, NFS4_OK);
  EXPECT_TRUE(empty.eof && empty.entries.empty());
  world_.write_local("abcd", "");
  EXPECT_EQ(readdir({}, args).status, NFS4ERR_TOOSMALL);
  args.maxcount = 16 + 4 + 8 + 8 + 4 + 4;
  const Page one = readdir({}, args);
  EXPECT_EQ(one.status, NFS4_OK);
  EXPECT_EQ(one.bytes, args.maxcount);
  --args.maxcount;
  EXPECT_EQ(readdir({}, args).status, NFS4ERR_TOOSMALL);
}

TEST_F(Operations, dircount_ends_a_page_but_not_before_its_first_entry) {
  for (const char* name : {"aaaa", "bbbb", "cccc"}) world_.write_local(name, "");
  READDIR4args args;
  args.maxcount = 4096;
  args.dircount = 1;
  EXPECT_EQ(readdir({}, args).entries.size(), 1U);
  args.dircount = 32;
  EXPECT_EQ(readdir({}, args).entries.size(), 2U);
  args.dircount = 0;
  EXPECT_EQ(readdir({}, args).entries.size(), 3U);
}

TEST_F(Operations, cookies_and_verifiers_that_were_never_given_out_are_refused) {
  world_.write_local("file", "");
  READDIR4args args;
  args.maxcount = 4096;
  for (const std::uint64_t cookie : {1U, 2U}) {
    args.cookie = cookie;
    EXPECT_EQ(readdir({}, args).status, NFS4ERR_BAD_COOKIE);
  }
  args.cookie = 0;
  const Page page = readdir({}, args);
  ASSERT_EQ(page.entries.size(), 1U);
  args.cookie = page.entries[0].cookie;
  EXPECT_EQ(readdir({}, args).status, NFS4_OK);
  args.cookieverf[0] = std::byte{1};
  EXPECT_EQ(readdir({}, args).status, NFS4ERR_NOT_SAME);
  EXPECT_EQ(readdir({"file"},
                    READDIR4args{
                        .cookie = 0, .cookieverf = {}, .dircount = 0, .maxcount = 4096, .attr_request = {}})
                .status,
            NFS4ERR_NOTDIR);
  const Bitmap write_only{FATTR4_TIME_ACCESS_SET};
  args = {};
  args.maxcount = 4096;
  args.attr_request = write_only.wire();
  EXPECT_EQ(readdir({}, args).status, NFS4ERR_INVAL);
}

TEST_F(Operations, an_entry_that_may_not_be_looked_at_says_so_in_its_rdattr_error) {
  std::filesystem::create_directory(world_.directory() + "/d");
  world_.write_local("d/file", "");
  ::chmod(world_.directory().c_str(), 0755);
  ::chmod((world_.directory() + "/d").c_str(), 0744);
  client_.emplace(world_, 2, "somebody", Caller{.uid = 1000, .gid = 1000});
  READDIR4args args;
  args.maxcount = 4096;
  const Bitmap with_error{FATTR4_TYPE, FATTR4_SIZE, FATTR4_RDATTR_ERROR};
  args.attr_request = with_error.wire();
  const Page told = readdir({"d"}, args);
  ASSERT_EQ(told.entries.size(), 1U);
  EXPECT_EQ(told.entries[0].mask, Bitmap{FATTR4_RDATTR_ERROR});
  EXPECT_EQ(told.entries[0].values, "0000000d") << "NFS4ERR_ACCESS";
  const Bitmap without{FATTR4_TYPE};
  args.attr_request = without.wire();
  EXPECT_EQ(readdir({"d"}, args).status, NFS4ERR_ACCESS);
  const Bitmap names{FATTR4_MOUNTED_ON_FILEID};
  args.attr_request = names.wire();
  EXPECT_EQ(readdir({"d"}, args).entries.size(), 1U) << "names may be read";
}

class TwoExports : public Operations {
 protected:
  TwoExports()
      : Operations({{"/a", {}, vfs::Squash::none},
                    {"/a/below", {}, vfs::Squash::none},
                    {"/c", {}, vfs::Squash::none}}) {}
};

TEST_F(TwoExports, directories_of_the_pseudo_file_system_list_what_leads_to_exports) {
  const Bitmap wanted{FATTR4_TYPE, FATTR4_FSID, FATTR4_RDATTR_ERROR, FATTR4_MOUNTED_ON_FILEID};
  for (const std::uint32_t maxcount : {120U, 4096U}) {
    const auto entries = list({}, wanted, maxcount);
    EXPECT_EQ(names_of(entries), (std::set<std::string>{"a", "c"}));
    for (const Entry& entry : entries) EXPECT_GT(entry.cookie, 2U);
  }
  const std::string root = getattr({}, Bitmap{FATTR4_FSID});
  EXPECT_EQ(root, "00000000 00000000 00000000 00000000");
  EXPECT_NE(getattr({"a"}, Bitmap{FATTR4_FSID}), root);
}

TEST_F(TwoExports, an_export_below_another_goes_before_what_it_covers) {
  world_.write_local("below", "a file of the first export");
  world_.write_local("other", "");
  const auto entries = list({"a"}, Bitmap{FATTR4_TYPE}, 4096);
  EXPECT_EQ(names_of(entries), (std::set<std::string>{"below", "other"}));
  for (const Entry& entry : entries)
    EXPECT_EQ(entry.values, entry.name == "below" ? "00000002" : "00000001") << entry.name;
  EXPECT_EQ(names_of(list({"a"}, Bitmap{}, 60)), (std::set<std::string>{"below", "other"}));
}

TEST_F(TwoExports, an_export_is_mounted_on_a_directory_of_the_pseudo_file_system) {
  const Bitmap both{FATTR4_FILEID, FATTR4_MOUNTED_ON_FILEID};
  const std::string ids = getattr({"c"}, both);
  ASSERT_EQ(ids.size(), 35U);
  EXPECT_NE(ids.substr(0, 17), ids.substr(18));
  for (const Entry& entry : list({}, both, 4096))
    if (entry.name == "c") {
      EXPECT_EQ(entry.values, ids);
    }
  const std::string below = getattr({"a", "below"}, both);
  EXPECT_NE(below.substr(0, 17), below.substr(18));
}

TEST_F(TwoExports, the_pseudo_file_system_is_read_only) {
  const auto res = setattr({}, Bitmap{FATTR4_MODE}, "000001ff");
  EXPECT_EQ(res.status, NFS4ERR_ROFS);
  EXPECT_TRUE(res.attrsset.empty());
}

}  // namespace
}  // namespace braid::nfs4::test
