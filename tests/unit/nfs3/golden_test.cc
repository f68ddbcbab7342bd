// Whole requests and replies of every procedure, byte for byte as RFC 1813 lays them out. Arguments are also
// taken in pieces of five bytes, so every field straddles a slab somewhere.
#include <string>

#include "tests/unit/nfs3/harness.h"

namespace braid::nfs3::test {
namespace {

using std::string;
using enum NFS_V3_procedure;

const string root = handle("00000001");
const string golden_file = handle("00000002");

const string no = "00000000";   // a union without its body
const string yes = "00000001";  // a union with it

const string t0 = "3b9aca00 00000005";  // nfstime3
const string t1 = "3b9aca01 00000005";
const string t2 = "3b9aca02 00000005";

// fattr3 with no owner and no device.
string fattr(const string& type_mode_nlink, const string& size, const string& fileid, const string& mtime,
             const string& ctime) {
  return type_mode_nlink + "00000000 00000000"        // uid, gid
         + "00000000" + size + "00000000" + size      // size, used
         + "00000000 00000000"                        // rdev
         + "00000000 000000f5" + "00000000" + fileid  // fsid, fileid
         + t0 + mtime + ctime;                        // atime, mtime, ctime
}
const string dir_head = "00000002 000001ed 00000002";   // NF3DIR, 0755, two links
const string file_head = "00000001 000001a4 00000001";  // NF3REG, 0644, one link
const string root_attributes = fattr(dir_head, "00001000", "00000001", t0, t0);
const string changed_root = fattr(dir_head, "00001000", "00000001", t1, t1);
const string file_attributes = fattr(file_head, "0000000c", "00000002", t0, t0);

// wcc_data of the root: before (size, mtime, ctime) and after.
const string root_before = yes + "00000000 00001000" + t0 + t0;
const string root_wcc = root_before + yes + changed_root;
const string unchanged_root_wcc = root_before + yes + root_attributes;
const string no_wcc = no + no;

const string hello = "00000005 68656c6c 6f000000";  // "hello", padded
const string fresh = "00000003 6e657700";           // "new", padded

// sattr3: mode 0640, the rest left alone.
const string mode_0640 = yes + "000001a0" + no + no + no + no + no;

class Golden : public Nfs3Test, public ::testing::WithParamInterface<std::size_t> {
 protected:
  Golden() {
    fragment_bytes_ = GetParam();
    auth_ = rpc::AuthNone{};
    change_export([](vfs::Export& it) { it.anon_uid = it.anon_gid = 0; });
    EXPECT_EQ(storage_->add(Storage::root_id, "hello", vfs::FileType::regular, "hello, world"), 2U);
  }
};
INSTANTIATE_TEST_SUITE_P(Pieces, Golden, ::testing::Values(5U, 65536U));

TEST_P(Golden, null) { expect_exchange(NFSPROC3_NULL, "", ""); }

TEST_P(Golden, getattr) { expect_exchange(NFSPROC3_GETATTR, golden_file, "00000000" + file_attributes); }
TEST_P(Golden, getattr_of_a_removed_file) {
  expect_exchange(NFSPROC3_GETATTR, handle("00000009"), "00000046");  // NFS3ERR_STALE and nothing else
}

TEST_P(Golden, setattr) {
  expect_exchange(NFSPROC3_SETATTR,
                  golden_file + yes + "000001a0"                    // mode 0640
                      + no + no                                     // uid, gid
                      + yes + "00000000 00000004"                   // size 4
                      + "00000000"                                  // atime: DONT_CHANGE
                      + "00000002 00000007 00000008"                // mtime: SET_TO_CLIENT_TIME 7.000000008
                      + yes + t0,                                   // guard: ctime
                  "00000000" + yes + "00000000 0000000c" + t0 + t0  // before
                      + yes +
                      fattr("00000001 000001a0 00000001", "00000004", "00000002", "00000007 00000008", t1));
}
TEST_P(Golden, setattr_with_an_old_guard) {
  expect_exchange(
      NFSPROC3_SETATTR, golden_file + mode_0640 + yes + t2,
      "00002712" + yes + "00000000 0000000c" + t0 + t0 + yes + file_attributes);  // NFS3ERR_NOT_SYNC
}

TEST_P(Golden, lookup) {
  expect_exchange(NFSPROC3_LOOKUP, root + hello,
                  "00000000" + golden_file + yes + file_attributes + yes + root_attributes);
}
TEST_P(Golden, lookup_of_a_missing_name) {
  expect_exchange(NFSPROC3_LOOKUP, root + fresh, "00000002" + yes + root_attributes);  // NFS3ERR_NOENT
}

TEST_P(Golden, access) {
  expect_exchange(NFSPROC3_ACCESS, golden_file + "0000003f", "00000000" + yes + file_attributes + "0000001d");
}
TEST_P(Golden, access_that_the_file_system_cannot_tell) {
  recorder_.fail("access", vfs::Error::io);
  expect_exchange(NFSPROC3_ACCESS, golden_file + "0000003f",
                  "00000005" + yes + file_attributes);  // NFS3ERR_IO
}

TEST_P(Golden, readlink) {
  storage_->add(Storage::root_id, "link", vfs::FileType::symlink, "../x");
  expect_exchange(NFSPROC3_READLINK, handle("00000003"),
                  "00000000" + yes + fattr("00000005 000001a4 00000001", "00000004", "00000003", t0, t0) +
                      "00000004 2e2e2f78");
}
TEST_P(Golden, readlink_of_a_file) {
  expect_exchange(NFSPROC3_READLINK, golden_file, "00000016" + yes + file_attributes);  // NFS3ERR_INVAL
}

TEST_P(Golden, read) {
  expect_exchange(NFSPROC3_READ, golden_file + "00000000 00000007" + "00000064",  // offset 7, count 100
                  "00000000" + yes + file_attributes + "00000005"                 // count
                      + yes                                                       // eof
                      + "00000005 776f726c 64000000");                            // "world", padded
}
TEST_P(Golden, read_of_a_directory) {
  expect_exchange(NFSPROC3_READ, root + "00000000 00000000 00000064",
                  "00000015" + yes + root_attributes);  // NFS3ERR_ISDIR
}

TEST_P(Golden, write) {
  expect_exchange(NFSPROC3_WRITE,
                  golden_file + "00000000 00000007" + "00000003" + "00000001"  // offset 7, count 3, DATA_SYNC
                      + "00000003 4d617000",                                   // "Map", padded
                  "00000000" + yes + "00000000 0000000c" + t0 + t0             // before
                      + yes + fattr(file_head, "0000000c", "00000002", t1, t1) + "00000003" +
                      "00000001"               // count, committed: DATA_SYNC
                      + "b0070000 00000000");  // write verifier
  EXPECT_EQ(storage_->node(2).content, "hello, Mapld");
}
TEST_P(Golden, write_to_a_full_disk) {
  recorder_.fail("write", vfs::Error::nospc);
  expect_exchange(NFSPROC3_WRITE, golden_file + "00000000 00000007 00000003 00000000 00000003 4d617000",
                  "0000001c" + yes + "00000000 0000000c" + t0 + t0 + yes + file_attributes);  // NFS3ERR_NOSPC
}

TEST_P(Golden, create_unchecked) {
  expect_exchange(NFSPROC3_CREATE, root + fresh + "00000000" + mode_0640,
                  "00000000" + yes + handle("00000003") + yes +
                      fattr("00000001 000001a0 00000001", "00000000", "00000003", t0, t0) + root_wcc);
}
TEST_P(Golden, create_exclusive) {
  const string request = root + fresh + "00000002" + "01020304 05060708";
  const string made = yes + handle("00000003") + yes + fattr(file_head, "00000000", "00000003", t0, t0);
  expect_exchange(NFSPROC3_CREATE, request, "00000000" + made + root_wcc);
  // Again with the same verifier: the same file, and nothing changes.
  expect_exchange(NFSPROC3_CREATE, request,
                  "00000000" + made + yes + "00000000 00001000" + t1 + t1 + yes + changed_root);
}
TEST_P(Golden, create_guarded_over_a_file) {
  expect_exchange(NFSPROC3_CREATE, root + hello + "00000001" + mode_0640,
                  "00000011" + unchanged_root_wcc);  // NFS3ERR_EXIST
}

TEST_P(Golden, mkdir) {
  expect_exchange(NFSPROC3_MKDIR, root + fresh + yes + "000001c0" + no + no + no + no + no,  // mode 0700
                  "00000000" + yes + handle("00000003") + yes +
                      fattr("00000002 000001c0 00000002", "00000000", "00000003", t0, t0) + root_wcc);
}
TEST_P(Golden, mkdir_without_permission) {
  recorder_.fail("mkdir", vfs::Error::acces);
  expect_exchange(NFSPROC3_MKDIR, root + fresh + mode_0640,
                  "0000000d" + unchanged_root_wcc);  // NFS3ERR_ACCES
}

TEST_P(Golden, symlink) {
  expect_exchange(NFSPROC3_SYMLINK, root + fresh + mode_0640 + "00000004 2e2e2f78",  // to "../x"
                  "00000000" + yes + handle("00000003") + yes +
                      // The fake does not count a link's text as used space.
                      "00000005 000001a0 00000001 00000000 00000000 00000000 00000004 00000000 00000000"
                      "00000000 00000000 00000000 000000f5 00000000 00000003" +
                      t0 + t0 + t0 + root_wcc);
}
TEST_P(Golden, symlink_over_quota) {
  recorder_.fail("symlink", vfs::Error::dquot);
  expect_exchange(NFSPROC3_SYMLINK, root + fresh + mode_0640 + "00000004 2e2e2f78",
                  "00000045" + unchanged_root_wcc);  // NFS3ERR_DQUOT
}

TEST_P(Golden, mknod_of_a_device) {
  expect_exchange(NFSPROC3_MKNOD, root + fresh + "00000004" + mode_0640 + "00000008 00000001",  // NF3CHR 8, 1
                  "00000000" + yes + handle("00000003") + yes +
                      "00000004 000001a0 00000001 00000000 00000000 00000000 00000000 00000000 00000000"
                      "00000008 00000001 00000000 000000f5 00000000 00000003" +
                      t0 + t0 + t0 + root_wcc);
}
TEST_P(Golden, mknod_of_a_fifo) {
  expect_exchange(NFSPROC3_MKNOD, root + fresh + "00000007" + mode_0640,
                  "00000000" + yes + handle("00000003") + yes +
                      fattr("00000007 000001a0 00000001", "00000000", "00000003", t0, t0) + root_wcc);
}
TEST_P(Golden, mknod_of_a_regular_file) {
  expect_exchange(NFSPROC3_MKNOD, root + fresh + "00000001", "00002717" + no_wcc);  // NFS3ERR_BADTYPE
}

TEST_P(Golden, remove) {
  expect_exchange(NFSPROC3_REMOVE, root + hello, "00000000" + root_wcc);
  EXPECT_FALSE(storage_->find(Storage::root_id, "hello"));
}
TEST_P(Golden, remove_of_a_missing_name) {
  expect_exchange(NFSPROC3_REMOVE, root + fresh, "00000002" + unchanged_root_wcc);  // NFS3ERR_NOENT
}

TEST_P(Golden, rmdir) {
  storage_->add(Storage::root_id, "new", vfs::FileType::directory);
  expect_exchange(NFSPROC3_RMDIR, root + fresh, "00000000" + root_wcc);
  EXPECT_FALSE(storage_->find(Storage::root_id, "new"));
}
TEST_P(Golden, rmdir_of_a_full_directory) {
  const auto directory = storage_->add(Storage::root_id, "new", vfs::FileType::directory);
  storage_->add(directory, "x", vfs::FileType::regular);
  expect_exchange(NFSPROC3_RMDIR, root + fresh, "00000042" + unchanged_root_wcc);  // NFS3ERR_NOTEMPTY
}

TEST_P(Golden, rename) {
  const auto directory = storage_->add(Storage::root_id, "d", vfs::FileType::directory);
  expect_exchange(NFSPROC3_RENAME, root + hello + handle("00000003") + fresh,
                  "00000000" + root_wcc                                          // from
                      + yes + "00000000 00000000" + t0 + t0                      // to, before
                      + yes + fattr(dir_head, "00000000", "00000003", t2, t2));  // to, after
  EXPECT_EQ(storage_->find(directory, "new"), 2U);
}
TEST_P(Golden, rename_of_a_missing_name) {
  expect_exchange(NFSPROC3_RENAME, root + fresh + root + hello,
                  "00000002" + unchanged_root_wcc + unchanged_root_wcc);  // NFS3ERR_NOENT
}

TEST_P(Golden, link) {
  expect_exchange(
      NFSPROC3_LINK, golden_file + root + fresh,
      "00000000" + yes + fattr("00000001 000001a4 00000002", "0000000c", "00000002", t0, t0) + root_wcc);
}
TEST_P(Golden, link_over_a_file) {
  expect_exchange(NFSPROC3_LINK, golden_file + root + hello,
                  "00000011" + yes + file_attributes + unchanged_root_wcc);  // NFS3ERR_EXIST
}

TEST_P(Golden, readdir) {
  expect_exchange(NFSPROC3_READDIR, root + "00000000 00000000" + "00000000 00000000" + "00001000",
                  "00000000" + yes + root_attributes + "00000000 00000000"                     // verifier
                      + yes + "00000000 00000001" + "00000001 2e000000" + "00000000 00000001"  // "."
                      + yes + "00000000 00000001" + "00000002 2e2e0000" + "00000000 00000002"  // ".."
                      + yes + "00000000 00000002" + hello + "00000000 00000003"                // "hello"
                      + no + yes);                                                             // no more, eof
}
TEST_P(Golden, readdir_of_a_file) {
  expect_exchange(NFSPROC3_READDIR, golden_file + "00000000 00000000 00000000 00000000 00001000",
                  "00000014" + yes + file_attributes);  // NFS3ERR_NOTDIR
}

TEST_P(Golden, readdirplus) {
  expect_exchange(NFSPROC3_READDIRPLUS,
                  root + "00000000 00000002" + "00000000 00000000" + "00000200 00001000",  // after cookie 2
                  "00000000" + yes + root_attributes + "00000000 00000000"                 // verifier
                      + yes + "00000000 00000002" + hello + "00000000 00000003"            // "hello"
                      + yes + file_attributes + yes + golden_file                          //
                      + no + yes);                                                         // no more, eof
}
TEST_P(Golden, readdirplus_with_an_unknown_cookie) {
  expect_exchange(NFSPROC3_READDIRPLUS, root + "00000000 00000063 00000000 00000000 00000200 00001000",
                  "00002713" + yes + root_attributes);  // NFS3ERR_BAD_COOKIE
}

TEST_P(Golden, fsstat) {
  expect_exchange(NFSPROC3_FSSTAT, root,
                  "00000000" + yes + root_attributes +
                      "00000000 000f4240 00000000 000927c0 00000000 0007a120"    // bytes
                      + "00000000 000003e8 00000000 000002bc 00000000 00000258"  // files
                      + "00000000");                                             // invarsec
}
TEST_P(Golden, fsstat_on_a_broken_disk) {
  recorder_.fail("status", vfs::Error::io);
  expect_exchange(NFSPROC3_FSSTAT, root, "00000005" + yes + root_attributes);  // NFS3ERR_IO
}

TEST_P(Golden, fsinfo) {
  expect_exchange(NFSPROC3_FSINFO, root,
                  "00000000" + yes + root_attributes + "00100000 00100000 00001000"  // rtmax, rtpref, rtmult
                      + "00100000 00100000 00001000" + "00010000"  // wtmax, wtpref, wtmult, dtpref
                      + "7fffffff ffffffff"                        // maxfilesize
                      + "00000000 00000001"                        // time_delta: 1 ns
                      + "0000001b");                               // LINK, SYMLINK, HOMOGENEOUS, CANSETTIME
}
TEST_P(Golden, fsinfo_with_a_bad_handle) {
  expect_exchange(NFSPROC3_FSINFO, "00000004 01020304", "00002711" + no);  // NFS3ERR_BADHANDLE
}

TEST_P(Golden, pathconf) {
  expect_exchange(NFSPROC3_PATHCONF, root,
                  "00000000" + yes + root_attributes + "0000007f 000000ff"  // linkmax, name_max
                      + yes + yes + no +
                      yes);  // no_trunc, chown_restricted, case_insensitive, case_preserving
}
TEST_P(Golden, pathconf_that_is_not_supported) {
  recorder_.fail("limits", vfs::Error::notsupp);
  expect_exchange(NFSPROC3_PATHCONF, root, "00002714" + yes + root_attributes);  // NFS3ERR_NOTSUPP
}

TEST_P(Golden, commit) {
  expect_exchange(
      NFSPROC3_COMMIT, golden_file + "00000000 00000007" + "00000003",
      "00000000" + yes + "00000000 0000000c" + t0 + t0 + yes + file_attributes + "b0070000 00000000");
}
TEST_P(Golden, commit_that_fails) {
  recorder_.fail("commit", vfs::Error::io);
  expect_exchange(NFSPROC3_COMMIT, golden_file + "00000000 00000007 00000003",
                  "00000005" + yes + "00000000 0000000c" + t0 + t0 + yes + file_attributes);  // NFS3ERR_IO
}

}  // namespace
}  // namespace braid::nfs3::test
