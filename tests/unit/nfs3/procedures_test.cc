// What the procedures do beyond moving bytes: identities, networks, limits, odd arguments.
#include <limits>
#include <string>
#include <tuple>

#include "tests/unit/nfs3/harness.h"

namespace braid::nfs3::test {
namespace {

using enum NFS_V3_procedure;
using enum nfsstat3;
using vfs::FileType;

class Procedures : public Nfs3Test {
 protected:
  std::uint64_t file_ = storage_->add(Storage::root_id, "f", FileType::regular, "0123456789");

  nfsstat3 getattr_status(const nfs_fh3& object) {
    return ask<GETATTR3res>(NFSPROC3_GETATTR, GETATTR3args{object}).status;
  }
  READ3res read(std::uint64_t offset, std::uint32_t count) {
    return ask<READ3res>(NFSPROC3_READ, READ3args{fh(file_), offset, count});
  }
  WRITE3res write(std::uint64_t offset, std::uint32_t count, std::string_view data,
                  stable_how stable = stable_how::UNSTABLE) {
    return ask<WRITE3res>(NFSPROC3_WRITE,
                          WRITE3args{fh(file_), offset, count, stable, payload_of(base::bytes_of(data))});
  }
  diropargs3 in_root(std::string_view name) { return {root_fh(), name}; }
};

// Identities.

TEST_F(Procedures, an_ordinary_caller_acts_as_himself_with_his_groups) {
  ask<ACCESS3res>(NFSPROC3_ACCESS, ACCESS3args{fh(file_), ACCESS3_READ});
  const vfs::Credentials& who = last("access")->who;
  EXPECT_EQ(who.uid, 1000U);
  EXPECT_EQ(who.gid, 100U);
  EXPECT_THAT(std::vector(who.groups().begin(), who.groups().end()), ::testing::ElementsAre(20U, 30U));
}

TEST_F(Procedures, root_is_squashed_unless_the_export_says_otherwise) {
  rpc::AuthSys sys;
  auth_ = sys;
  read(0, 1);
  EXPECT_EQ(last("read")->who.uid, 65534U);
  change_export([](vfs::Export& it) { it.squash = vfs::Squash::none; });
  read(0, 1);
  EXPECT_EQ(last("read")->who.uid, 0U);
}

TEST_F(Procedures, all_squash_replaces_every_caller_and_drops_the_groups) {
  change_export([](vfs::Export& it) {
    it.squash = vfs::Squash::all;
    it.anon_uid = 77;
    it.anon_gid = 78;
  });
  write(0, 1, "x");
  EXPECT_EQ(last("write")->who.uid, 77U);
  EXPECT_EQ(last("write")->who.gid, 78U);
  EXPECT_TRUE(last("write")->who.groups().empty());
}

TEST_F(Procedures, a_caller_without_credentials_is_the_anonymous_user) {
  auth_ = rpc::AuthNone{};
  read(0, 1);
  EXPECT_EQ(last("read")->who.uid, 65534U);
  EXPECT_EQ(last("read")->who.gid, 65534U);
}

// Networks and handles.

TEST_F(Procedures, a_client_outside_the_networks_of_the_export_is_refused_with_a_valid_handle) {
  change_export([](vfs::Export& it) { it.clients = {*vfs::Network::parse("198.51.100.0/24")}; });
  EXPECT_EQ(getattr_status(fh(file_)), NFS3ERR_ACCES);
  EXPECT_EQ(count("resolve"), 0U);
  client_ = *vfs::Address::parse("198.51.100.9");
  EXPECT_EQ(getattr_status(fh(file_)), NFS3_OK);
}

TEST_F(Procedures, null_is_answered_to_everybody) {
  change_export([](vfs::Export& it) { it.clients = {*vfs::Network::parse("198.51.100.0/24")}; });
  EXPECT_EQ(call(NFSPROC3_NULL, {}).answer, rpc::Answer::success);
}

TEST_F(Procedures, bytes_that_are_no_handle_are_badhandle) {
  EXPECT_EQ(getattr_status({}), NFS3ERR_BADHANDLE);
  const base::Bytes zeros(64);
  EXPECT_EQ(getattr_status({zeros}), NFS3ERR_BADHANDLE);
  const vfs::FileHandle cut = [&] {
    vfs::FileHandle handle = storage_->handle_of(file_);
    --handle.size;
    return handle;
  }();
  EXPECT_EQ(getattr_status(keep(cut)), NFS3ERR_BADHANDLE);
}

TEST_F(Procedures, a_handle_with_a_forged_signature_is_badhandle) {
  vfs::FileHandle forged = storage_->handle_of(file_);
  forged.bytes[9] ^= std::byte{1};
  EXPECT_EQ(getattr_status(keep(forged)), NFS3ERR_BADHANDLE);
}

TEST_F(Procedures, a_handle_of_a_removed_file_or_export_is_stale) {
  EXPECT_EQ(getattr_status(fh(99)), NFS3ERR_STALE);
  withdraw_exports();
  EXPECT_EQ(getattr_status(fh(file_)), NFS3ERR_STALE);
}

TEST_F(Procedures, a_handle_leads_to_its_own_export) {
  const auto there = other_storage_->add(Storage::root_id, "g", FileType::regular, "xy");
  const auto res = ask<GETATTR3res>(NFSPROC3_GETATTR, GETATTR3args{keep(other_storage_->handle_of(there))});
  ASSERT_EQ(res.status, NFS3_OK);
  EXPECT_EQ(res.resok()->obj_attributes.size, 2U);
  EXPECT_TRUE(recorder_.calls.empty());
}

TEST_F(Procedures, names_cannot_move_between_exports) {
  const nfs_fh3 there = keep(other_storage_->handle_of(Storage::root_id));
  EXPECT_EQ(ask<RENAME3res>(NFSPROC3_RENAME, RENAME3args{in_root("f"), {there, "f"}}).status, NFS3ERR_XDEV);
  EXPECT_EQ(ask<LINK3res>(NFSPROC3_LINK, LINK3args{fh(file_), {there, "f"}}).status, NFS3ERR_XDEV);
  EXPECT_EQ(count("rename") + count("link"), 0U);
}

TEST_F(Procedures, on_a_read_only_export_every_change_is_rofs) {
  recorder_.read_only = true;
  const nfs_fh3 file = fh(file_);
  EXPECT_EQ(ask<SETATTR3res>(NFSPROC3_SETATTR, SETATTR3args{file, {}, {}}).status, NFS3ERR_ROFS);
  EXPECT_EQ(write(0, 1, "x").status, NFS3ERR_ROFS);
  EXPECT_EQ(ask<CREATE3res>(NFSPROC3_CREATE, CREATE3args{in_root("n"), {}}).status, NFS3ERR_ROFS);
  EXPECT_EQ(ask<MKDIR3res>(NFSPROC3_MKDIR, MKDIR3args{in_root("n"), {}}).status, NFS3ERR_ROFS);
  EXPECT_EQ(ask<SYMLINK3res>(NFSPROC3_SYMLINK, SYMLINK3args{in_root("n"), {{}, "x"}}).status, NFS3ERR_ROFS);
  const mknoddata3 fifo = mknoddata3::with_pipe_attributes(ftype3::NF3FIFO, {});
  EXPECT_EQ(ask<MKNOD3res>(NFSPROC3_MKNOD, MKNOD3args{in_root("n"), fifo}).status, NFS3ERR_ROFS);
  EXPECT_EQ(ask<REMOVE3res>(NFSPROC3_REMOVE, REMOVE3args{in_root("f")}).status, NFS3ERR_ROFS);
  EXPECT_EQ(ask<RMDIR3res>(NFSPROC3_RMDIR, RMDIR3args{in_root("f")}).status, NFS3ERR_ROFS);
  EXPECT_EQ(ask<RENAME3res>(NFSPROC3_RENAME, RENAME3args{in_root("f"), in_root("n")}).status, NFS3ERR_ROFS);
  EXPECT_EQ(ask<LINK3res>(NFSPROC3_LINK, LINK3args{file, in_root("n")}).status, NFS3ERR_ROFS);
}

TEST_F(Procedures, a_client_has_the_rights_of_the_first_rule_that_names_him) {
  change_export([](vfs::Export& it) {
    it.clients = {*vfs::Network::parse("198.51.100.0/24")};
    vfs::ExportRule rule;
    rule.clients = {*vfs::Network::parse("203.0.113.7")};
    rule.squash = vfs::Squash::all;
    rule.anon_uid = 77;
    rule.read_only = true;
    it.rules = {rule};
  });
  client_ = *vfs::Address::parse("203.0.113.7");
  read(0, 1);
  EXPECT_EQ(last("read")->who.uid, 77U);
  EXPECT_EQ(write(0, 1, "x").status, NFS3ERR_ROFS);
  auth_ = rpc::AuthNone{};
  EXPECT_EQ(write(0, 1, "x").status, NFS3ERR_ROFS);
  client_ = *vfs::Address::parse("198.51.100.9");
  EXPECT_EQ(write(0, 1, "x").status, NFS3_OK);
  EXPECT_EQ(last("write")->who.uid, 65534U);
  client_ = *vfs::Address::parse("203.0.113.8");
  EXPECT_EQ(write(0, 1, "x").status, NFS3ERR_ACCES);
}

// Names.

TEST_F(Procedures, bad_names_never_reach_the_file_system) {
  for (const std::string& bad :
       {std::string(), std::string("a/b"), std::string("a\0b", 3), std::string(256, 'x')}) {
    const diropargs3 at = in_root(bad);
    const nfsstat3 status = bad.empty()        ? NFS3ERR_ACCES
                            : bad.size() > 255 ? NFS3ERR_NAMETOOLONG
                                               : NFS3ERR_INVAL;
    EXPECT_EQ(ask<LOOKUP3res>(NFSPROC3_LOOKUP, LOOKUP3args{at}).status, status);
    EXPECT_EQ(ask<CREATE3res>(NFSPROC3_CREATE, CREATE3args{at, {}}).status, status);
    EXPECT_EQ(ask<MKDIR3res>(NFSPROC3_MKDIR, MKDIR3args{at, {}}).status, status);
    EXPECT_EQ(ask<SYMLINK3res>(NFSPROC3_SYMLINK, SYMLINK3args{at, {{}, "x"}}).status, status);
    EXPECT_EQ(ask<MKNOD3res>(NFSPROC3_MKNOD, MKNOD3args{at, {}}).status, status);
    EXPECT_EQ(ask<REMOVE3res>(NFSPROC3_REMOVE, REMOVE3args{at}).status, status);
    EXPECT_EQ(ask<RMDIR3res>(NFSPROC3_RMDIR, RMDIR3args{at}).status, status);
    EXPECT_EQ(ask<RENAME3res>(NFSPROC3_RENAME, RENAME3args{at, in_root("n")}).status, status);
    EXPECT_EQ(ask<RENAME3res>(NFSPROC3_RENAME, RENAME3args{in_root("f"), at}).status, status);
    EXPECT_EQ(ask<LINK3res>(NFSPROC3_LINK, LINK3args{fh(file_), at}).status, status);
  }
  for (const Recorded& recorded : recorder_.calls) EXPECT_EQ(recorded.operation, "resolve");
}

TEST_F(Procedures, dots_are_looked_up_and_nothing_else) {
  EXPECT_EQ(ask<LOOKUP3res>(NFSPROC3_LOOKUP, LOOKUP3args{in_root("..")}).status, NFS3_OK);
  EXPECT_EQ(ask<CREATE3res>(NFSPROC3_CREATE, CREATE3args{in_root("."), {}}).status, NFS3ERR_EXIST);
  EXPECT_EQ(ask<MKDIR3res>(NFSPROC3_MKDIR, MKDIR3args{in_root(".."), {}}).status, NFS3ERR_EXIST);
  EXPECT_EQ(ask<LINK3res>(NFSPROC3_LINK, LINK3args{fh(file_), in_root("..")}).status, NFS3ERR_EXIST);
  EXPECT_EQ(ask<REMOVE3res>(NFSPROC3_REMOVE, REMOVE3args{in_root(".")}).status, NFS3ERR_INVAL);
  EXPECT_EQ(ask<RMDIR3res>(NFSPROC3_RMDIR, RMDIR3args{in_root("..")}).status, NFS3ERR_EXIST);
  EXPECT_EQ(ask<RENAME3res>(NFSPROC3_RENAME, RENAME3args{in_root("."), in_root("n")}).status, NFS3ERR_INVAL);
}

TEST_F(Procedures, a_name_may_be_any_bytes) {
  const std::string odd = "\xff\x01 \n\xc3";
  EXPECT_EQ(ask<CREATE3res>(NFSPROC3_CREATE, CREATE3args{in_root(odd), {}}).status, NFS3_OK);
  EXPECT_TRUE(storage_->find(Storage::root_id, odd));
}

TEST_F(Procedures, a_symbolic_link_needs_a_target_that_can_be_one) {
  const auto status = [&](std::string_view target) {
    return ask<SYMLINK3res>(NFSPROC3_SYMLINK, SYMLINK3args{in_root("l"), {{}, target}}).status;
  };
  EXPECT_EQ(status(""), NFS3ERR_INVAL);
  EXPECT_EQ(status(std::string_view("a\0b", 3)), NFS3ERR_INVAL);
  EXPECT_EQ(status(std::string(4096, 'x')), NFS3ERR_NAMETOOLONG);
  EXPECT_EQ(status(std::string(4095, 'x')), NFS3_OK);
}

// READ.

TEST_F(Procedures, read_stops_at_the_end_of_the_file) {
  const READ3res all = read(0, 100);
  EXPECT_EQ(all.resok()->count, 10U);
  EXPECT_TRUE(all.resok()->eof);
  const READ3res part = read(2, 3);
  EXPECT_EQ(part.resok()->count, 3U);
  EXPECT_FALSE(part.resok()->eof);
  const READ3res exact = read(7, 3);
  EXPECT_EQ(exact.resok()->count, 3U);
  EXPECT_TRUE(exact.resok()->eof);
}

TEST_F(Procedures, read_beyond_the_end_is_empty_and_eof_up_to_the_largest_offset) {
  constexpr std::uint64_t top = std::numeric_limits<std::uint64_t>::max();
  for (const std::uint64_t offset : {std::uint64_t{10}, top / 2, top / 2 + 1, top - 1, top}) {
    const READ3res res = read(offset, 0xffff'ffff);
    ASSERT_EQ(res.status, NFS3_OK);
    EXPECT_EQ(res.resok()->count, 0U);
    EXPECT_TRUE(res.resok()->eof);
  }
}

TEST_F(Procedures, read_of_nothing_is_allowed) {
  const READ3res res = read(3, 0);
  ASSERT_EQ(res.status, NFS3_OK);
  EXPECT_EQ(res.resok()->count, 0U);
  EXPECT_FALSE(res.resok()->eof);
}

TEST_F(Procedures, read_gives_at_most_rtmax) {
  const auto big =
      storage_->add(Storage::root_id, "big", FileType::regular, std::string(MAX_PAYLOAD + 5, 'b'));
  const auto res = ask<READ3res>(NFSPROC3_READ, READ3args{fh(big), 0, 0xffff'ffff});
  ASSERT_EQ(res.status, NFS3_OK);
  EXPECT_EQ(res.resok()->count, MAX_PAYLOAD);
  EXPECT_EQ(res.resok()->data.size(), MAX_PAYLOAD);
  EXPECT_FALSE(res.resok()->eof);
}

// WRITE.

TEST_F(Procedures, write_takes_only_the_count_that_was_announced) {
  const WRITE3res res = write(0, 2, "abcd");
  ASSERT_EQ(res.status, NFS3_OK);
  EXPECT_EQ(res.resok()->count, 2U);
  EXPECT_EQ(storage_->node(file_).content, "ab23456789");
}

TEST_F(Procedures, write_of_more_than_was_sent_is_inval) {
  EXPECT_EQ(write(0, 5, "abcd").status, NFS3ERR_INVAL);
  EXPECT_EQ(count("write"), 0U);
}

TEST_F(Procedures, write_beyond_the_largest_offset_is_fbig) {
  constexpr std::uint64_t last = std::numeric_limits<std::int64_t>::max();
  for (const std::uint64_t offset : {last - 3, last, last + 1, std::numeric_limits<std::uint64_t>::max()})
    EXPECT_EQ(write(offset, 4, "abcd").status, NFS3ERR_FBIG);
  EXPECT_EQ(count("write"), 0U);
}

TEST_F(Procedures, write_of_nothing_is_allowed) {
  const WRITE3res res = write(3, 0, "");
  ASSERT_EQ(res.status, NFS3_OK);
  EXPECT_EQ(res.resok()->count, 0U);
}

TEST_F(Procedures, write_above_wtmax_is_done_in_part) {
  const std::string data(MAX_PAYLOAD + 4096, 'w');
  const WRITE3res res = write(0, MAX_PAYLOAD + 4096, data);
  ASSERT_EQ(res.status, NFS3_OK);
  EXPECT_EQ(res.resok()->count, MAX_PAYLOAD);
  EXPECT_EQ(storage_->node(file_).content.size(), MAX_PAYLOAD);
}

TEST_F(Procedures, write_says_how_far_the_data_really_got) {
  fs_->traits().committed = vfs::Stability::file_sync;
  fs_->traits().short_write = 1;
  const WRITE3res res = write(0, 4, "abcd", stable_how::UNSTABLE);
  EXPECT_EQ(res.resok()->committed, stable_how::FILE_SYNC);
  EXPECT_EQ(res.resok()->count, 1U);
}

TEST_F(Procedures, write_and_commit_carry_the_verifier_of_the_file_system) {
  const writeverf3 first = write(0, 1, "x").resok()->verf;
  const auto commit = [&] { return ask<COMMIT3res>(NFSPROC3_COMMIT, COMMIT3args{fh(file_), 0, 0}); };
  EXPECT_EQ(commit().resok()->verf, first);
  fs_->traits().verifier.bytes[7] = std::byte{9};
  EXPECT_NE(commit().resok()->verf, first);
  EXPECT_EQ(commit().resok()->verf, write(0, 1, "x").resok()->verf);
}

TEST_F(Procedures, a_verifier_that_changes_during_a_write_shows_the_client_that_data_was_lost) {
  recorder_.park(true);
  const auto running =
      start(NFSPROC3_WRITE,
            encoded(WRITE3args{fh(file_), 0, 1, stable_how::UNSTABLE, payload_of(base::bytes_of("x"))}));
  recorder_.resume_one();  // resolve
  queue_.run(100);
  const vfs::Verifier before = fs_->traits().verifier;
  fs_->traits().verifier.bytes[7] = std::byte{9};
  recorder_.resume_one();  // write
  queue_.run(100);
  const Answered answered = running->answered();
  EXPECT_EQ(decoded<WRITE3res>(answered).resok()->verf, before.bytes);
}

TEST_F(Procedures, commit_of_an_impossible_range_covers_the_whole_file) {
  const auto commit = [&](std::uint64_t offset, std::uint32_t bytes) {
    EXPECT_EQ(ask<COMMIT3res>(NFSPROC3_COMMIT, COMMIT3args{fh(file_), offset, bytes}).status, NFS3_OK);
    return last("commit")->name;
  };
  EXPECT_EQ(commit(5, 6), "5+6");
  EXPECT_EQ(commit(5, 0), "5+0");
  EXPECT_EQ(commit(std::numeric_limits<std::uint64_t>::max(), 10), "0+0");
  EXPECT_EQ(commit(std::numeric_limits<std::int64_t>::max(), 1), "0+0");
}

// Odds and ends.

TEST_F(Procedures, access_ignores_bits_that_the_rfc_does_not_define) {
  storage_->node(file_).attributes.mode = 07;
  const auto res = ask<ACCESS3res>(NFSPROC3_ACCESS, ACCESS3args{fh(file_), 0xffff'ffff});
  EXPECT_EQ(res.resok()->access, 0x3fU);
}

TEST_F(Procedures, attributes_that_cannot_be_had_are_left_out) {
  recorder_.fail("getattr", vfs::Error::io);
  const auto res = ask<LOOKUP3res>(NFSPROC3_LOOKUP, LOOKUP3args{in_root("f")});
  ASSERT_EQ(res.status, NFS3_OK);
  EXPECT_TRUE(res.resok()->obj_attributes.attributes_follow);
  EXPECT_FALSE(res.resok()->dir_attributes.attributes_follow);
}

TEST_F(Procedures, setattr_with_an_impossible_time_or_size_changes_nothing) {
  sattr3 wanted;
  wanted.mtime = set_mtime::with_mtime({1, 1'000'000'000});
  EXPECT_EQ(ask<SETATTR3res>(NFSPROC3_SETATTR, SETATTR3args{fh(file_), wanted, {}}).status, NFS3ERR_INVAL);
  wanted = {};
  wanted.size = set_size3::with_size(std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(ask<SETATTR3res>(NFSPROC3_SETATTR, SETATTR3args{fh(file_), wanted, {}}).status, NFS3ERR_FBIG);
  EXPECT_EQ(count("setattr"), 0U);
}

TEST_F(Procedures, fsinfo_tells_the_truth_about_the_file_system_and_the_options) {
  options_.read_bytes_max = 65536;
  options_.write_bytes_max = 0xffff'ffff;
  options_.directory_bytes_max = 1;
  service_ = std::make_unique<Nfs3Service>(exports_, options_);
  fs_->traits().limits.hard_links = false;
  fs_->traits().limits.can_set_time = false;
  fs_->traits().limits.time_delta = {1, 0};
  const auto res = ask<FSINFO3res>(NFSPROC3_FSINFO, FSINFO3args{root_fh()});
  const FSINFO3resok& ok = *res.resok();
  EXPECT_EQ(ok.rtmax, 65536U);
  EXPECT_EQ(ok.wtmax, MAX_PAYLOAD);
  EXPECT_EQ(ok.dtpref, 4096U);
  EXPECT_EQ(ok.properties, FSF3_SYMLINK | FSF3_HOMOGENEOUS);
  EXPECT_EQ(ok.time_delta, (nfstime3{1, 0}));
}

}  // namespace
}  // namespace braid::nfs3::test
