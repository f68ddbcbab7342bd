// libnfs understands every request and reply of ours, down to the last byte.
#include <string>
#include <vector>

#include "tests/unit/nfs3/harness.h"
#include "tests/unit/nfs3/libnfs_oracle.h"

namespace braid::nfs3::test {
namespace {

using enum NFS_V3_procedure;
using vfs::FileType;

class Oracle : public Nfs3Test {
 protected:
  // Both ways through libnfs, whatever the outcome of the call is; returns its status.
  template <class Args>
  nfsstat3 exchange(NFS_V3_procedure procedure, const Args& args) {
    const auto number = static_cast<std::uint32_t>(procedure);
    const base::Bytes request = encoded(args);
    const auto request_again = nfs3_args_recoded_by_libnfs(number, request);
    EXPECT_TRUE(request_again) << "procedure " << number;
    EXPECT_EQ(to_hex(request_again.value_or(base::Bytes())), to_hex(request));
    const Answered answered = call(procedure, request);
    EXPECT_EQ(answered.answer, rpc::Answer::success);
    const auto reply_again = nfs3_results_recoded_by_libnfs(number, answered.results);
    EXPECT_TRUE(reply_again) << "procedure " << number << '\n' << to_hex(answered.results);
    EXPECT_EQ(to_hex(reply_again.value_or(base::Bytes())), to_hex(answered.results));
    return static_cast<nfsstat3>(answered.status);
  }

  // Every procedure once, in an order in which each can succeed.
  std::vector<nfsstat3> all() {
    const nfs_fh3 file = fh(file_);
    sattr3 set;
    set.mode = set_mode3::with_mode(0600);
    set.uid = set_uid3::with_uid(1);
    set.gid = set_gid3::with_gid(2);
    set.size = set_size3::with_size(5);
    set.atime = set_atime::with_default(time_how::SET_TO_SERVER_TIME);
    set.mtime = set_mtime::with_mtime({0xfedc'ba98, 999'999'999});
    const auto in_root = [&](std::string_view name) { return diropargs3{root_fh(), name}; };
    const sattrguard3 guard = sattrguard3::with_obj_ctime({1'000'000'000, 5});
    const mknoddata3 device = mknoddata3::with_device(ftype3::NF3CHR, {set, {1, 3}});
    const mknoddata3 socket = mknoddata3::with_pipe_attributes(ftype3::NF3SOCK, set);
    const createverf3 verf{std::byte{1}, std::byte{2}, std::byte{3}};
    const std::string data = "five.";
    const auto payload = payload_of(base::bytes_of(data));
    return {
        exchange(NFSPROC3_GETATTR, GETATTR3args{file}),
        exchange(NFSPROC3_SETATTR, SETATTR3args{file, set, guard}),
        exchange(NFSPROC3_LOOKUP, LOOKUP3args{in_root("file")}),
        exchange(NFSPROC3_ACCESS, ACCESS3args{file, 0x3f}),
        exchange(NFSPROC3_READLINK, READLINK3args{fh(link_)}),
        exchange(NFSPROC3_READ, READ3args{file, 1, 100}),
        exchange(NFSPROC3_WRITE, WRITE3args{file, 0x1'0000, 5, stable_how::FILE_SYNC, payload}),
        exchange(NFSPROC3_CREATE,
                 CREATE3args{in_root("a"), createhow3::with_obj_attributes(createmode3::GUARDED, set)}),
        exchange(NFSPROC3_CREATE, CREATE3args{in_root("b"), createhow3::with_verf(verf)}),
        exchange(NFSPROC3_MKDIR, MKDIR3args{in_root("c"), set}),
        exchange(NFSPROC3_SYMLINK, SYMLINK3args{in_root("d"), {set, "../target"}}),
        exchange(NFSPROC3_MKNOD, MKNOD3args{in_root("e"), device}),
        exchange(NFSPROC3_MKNOD, MKNOD3args{in_root("f"), socket}),
        exchange(NFSPROC3_RENAME, RENAME3args{in_root("a"), in_root("g")}),
        exchange(NFSPROC3_LINK, LINK3args{file, in_root("h")}),
        exchange(NFSPROC3_READDIR, READDIR3args{root_fh(), 0, {}, 65536}),
        exchange(NFSPROC3_READDIRPLUS, READDIRPLUS3args{root_fh(), 0, {}, 65536, 65536}),
        exchange(NFSPROC3_REMOVE, REMOVE3args{in_root("b")}),
        exchange(NFSPROC3_RMDIR, RMDIR3args{in_root("c")}),
        exchange(NFSPROC3_FSSTAT, FSSTAT3args{root_fh()}),
        exchange(NFSPROC3_FSINFO, FSINFO3args{root_fh()}),
        exchange(NFSPROC3_PATHCONF, PATHCONF3args{root_fh()}),
        exchange(NFSPROC3_COMMIT, COMMIT3args{file, 3, 4}),
    };
  }

  std::uint64_t file_ = storage_->add(Storage::root_id, "file", FileType::regular, "0123456789");
  std::uint64_t link_ = storage_->add(Storage::root_id, "link", FileType::symlink, "elsewhere");
};

TEST_F(Oracle, every_success_is_understood) {
  for (const nfsstat3 status : all()) EXPECT_EQ(status, nfsstat3::NFS3_OK);
}

TEST_F(Oracle, every_failure_is_understood) {
  for (const std::string operation :
       {"getattr", "setattr", "lookup", "access", "readlink", "read", "write", "create", "mkdir", "symlink",
        "mknod", "remove", "rmdir", "rename", "link", "readdir", "status", "limits", "commit"})
    recorder_.fail(operation, vfs::Error::io);
  for (const nfsstat3 status : all()) EXPECT_EQ(status, nfsstat3::NFS3ERR_IO);
}

TEST_F(Oracle, every_failure_before_the_object_is_known_is_understood) {
  recorder_.fail("resolve", vfs::Error::stale);
  for (const nfsstat3 status : all()) EXPECT_EQ(status, nfsstat3::NFS3ERR_STALE);
}

TEST_F(Oracle, listings_without_attributes_are_understood) {
  fs_->traits().entries_without_attributes = true;
  EXPECT_EQ(exchange(NFSPROC3_READDIRPLUS, READDIRPLUS3args{root_fh(), 0, {}, 65536, 65536}),
            nfsstat3::NFS3_OK);
}

TEST_F(Oracle, mount_is_understood) {
  change_export([](vfs::Export& it) {
    it.clients = {*vfs::Network::parse("192.0.2.0/24"), *vfs::Network::parse("2001:db8::/32")};
  });
  const auto understood = [&](MOUNT_V3_procedure procedure, std::string_view args) {
    const Answered answered = mount_call(procedure, hex(args));
    const auto again =
        mount_results_recoded_by_libnfs(static_cast<std::uint32_t>(procedure), answered.results);
    ASSERT_TRUE(again) << to_hex(answered.results);
    EXPECT_EQ(to_hex(*again), to_hex(answered.results));
  };
  understood(MOUNT_V3_procedure::MOUNTPROC3_NULL, "");
  understood(MOUNT_V3_procedure::MOUNTPROC3_MNT, "00000001 2f000000");           // "/"
  understood(MOUNT_V3_procedure::MOUNTPROC3_MNT, "00000006 2f6f7468 65720000");  // "/other"
  understood(MOUNT_V3_procedure::MOUNTPROC3_MNT, "00000002 2f780000");           // "/x": refused
  understood(MOUNT_V3_procedure::MOUNTPROC3_DUMP, "");
  understood(MOUNT_V3_procedure::MOUNTPROC3_EXPORT, "");
  understood(MOUNT_V3_procedure::MOUNTPROC3_UMNT, "00000001 2f000000");
  understood(MOUNT_V3_procedure::MOUNTPROC3_UMNTALL, "");
}

}  // namespace
}  // namespace braid::nfs3::test
