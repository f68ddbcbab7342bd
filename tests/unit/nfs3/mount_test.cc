// MOUNT version 3.
#include <algorithm>
#include <string>
#include <vector>

#include "tests/unit/nfs3/harness.h"

namespace braid::nfs3::test {
namespace {

using enum MOUNT_V3_procedure;
using enum mountstat3;
using vfs::FileType;

class Mount : public Nfs3Test {
 protected:
  base::Bytes path_args(std::string_view path) {
    xdr::Encoder out(cursor_);
    out.text(path);
    const io::Payload message = out.finish().bytes;
    base::Bytes bytes(message.size());
    message.in_memory().value().copy_to(0, bytes);
    return bytes;
  }
  struct Mounted {
    mountstat3 status = MNT3_OK;
    base::Bytes handle;
    std::vector<std::int32_t> flavors;
  };
  Mounted mnt(std::string_view path) {
    const Answered answered = mount_call(MOUNTPROC3_MNT, path_args(path));
    EXPECT_EQ(answered.answer, rpc::Answer::success);
    const io::Payload message = payload_of(answered.results);
    xdr::Arena arena;
    xdr::Decoder in(message, arena);
    mountres3 res;
    EXPECT_TRUE(decode(in, res));
    EXPECT_EQ(in.remaining(), 0U);
    EXPECT_EQ(static_cast<std::uint32_t>(res.fhs_status), answered.status);
    Mounted mounted{res.fhs_status, {}, {}};
    if (const mountres3_ok* ok = res.mountinfo()) {
      mounted.handle.assign(ok->fhandle.begin(), ok->fhandle.end());
      mounted.flavors.assign(ok->auth_flavors.begin(), ok->auth_flavors.end());
    }
    return mounted;
  }
  std::vector<std::pair<std::string, std::string>> dump() {
    const Answered answered = mount_call(MOUNTPROC3_DUMP, {});
    const io::Payload message = payload_of(answered.results);
    xdr::Arena arena;
    xdr::Decoder in(message, arena);
    mountlist list;
    EXPECT_TRUE(decode_mountlist(in, list));
    EXPECT_EQ(in.remaining(), 0U);
    std::vector<std::pair<std::string, std::string>> entries;
    for (const mountbody& body : list) entries.emplace_back(body.ml_hostname, body.ml_directory);
    return entries;
  }
  static std::string text(const vfs::FileHandle& handle) { return to_hex(handle.view()); }

  std::uint64_t dir_ = storage_->add(Storage::root_id, "dir", FileType::directory);
  std::uint64_t sub_ = storage_->add(dir_, "sub", FileType::directory);
};

TEST_F(Mount, the_root_of_an_export_has_the_handle_of_its_file_system) {
  const Mounted mounted = mnt("/");
  EXPECT_EQ(mounted.status, MNT3_OK);
  EXPECT_EQ(to_hex(mounted.handle), text(storage_->handle_of(Storage::root_id)));
  EXPECT_EQ(mounted.flavors, (std::vector<std::int32_t>{1})) << "AUTH_SYS";
}

TEST_F(Mount, the_longest_export_path_wins) {
  EXPECT_EQ(to_hex(mnt("/other").handle), text(other_storage_->handle_of(Storage::root_id)));
  EXPECT_EQ(mnt("/others").status, MNT3ERR_NOENT) << "a prefix of a component is no parent";
}

TEST_F(Mount, a_directory_below_an_export_can_be_mounted) {
  EXPECT_EQ(to_hex(mnt("/dir/sub").handle), text(storage_->handle_of(sub_)));
  EXPECT_EQ(to_hex(mnt("//dir/./sub/").handle), text(storage_->handle_of(sub_)));
}

TEST_F(Mount, the_walk_does_not_depend_on_who_asks) {
  mnt("/dir/sub");
  for (const Recorded& recorded : recorder_.calls) {
    EXPECT_EQ(recorded.operation, "lookup");
    EXPECT_EQ(recorded.who, vfs::Credentials{});
  }
}

TEST_F(Mount, a_path_that_does_not_lead_to_a_directory_says_why) {
  storage_->add(dir_, "file", FileType::regular);
  storage_->add(dir_, "link", FileType::symlink, "sub");
  EXPECT_EQ(mnt("/dir/missing").status, MNT3ERR_NOENT);
  EXPECT_EQ(mnt("/dir/file").status, MNT3ERR_NOTDIR);
  EXPECT_EQ(mnt("/dir/file/x").status, MNT3ERR_NOTDIR);
  EXPECT_EQ(mnt("/dir/link").status, MNT3ERR_NOTDIR) << "links are not followed";
  EXPECT_EQ(mnt("/dir/../dir").status, MNT3ERR_INVAL);
  EXPECT_EQ(mnt(std::string_view("/dir\0", 5)).status, MNT3ERR_INVAL);
  recorder_.fail("lookup", vfs::Error::io);
  EXPECT_EQ(mnt("/dir").status, MNT3ERR_IO);
}

TEST_F(Mount, without_an_export_for_the_path_there_is_noent) {
  withdraw_exports();
  EXPECT_EQ(mnt("/").status, MNT3ERR_NOENT);
}

TEST_F(Mount, a_client_outside_the_networks_learns_nothing_about_the_tree) {
  change_export([](vfs::Export& it) { it.clients = {*vfs::Network::parse("198.51.100.0/24")}; });
  EXPECT_EQ(mnt("/").status, MNT3ERR_ACCES);
  EXPECT_EQ(mnt("/dir/missing").status, MNT3ERR_ACCES);
  EXPECT_TRUE(recorder_.calls.empty());
  client_ = *vfs::Address::parse("198.51.100.1");
  EXPECT_EQ(mnt("/").status, MNT3_OK);
}

TEST_F(Mount, a_path_above_the_limit_of_the_protocol_is_garbage) {
  EXPECT_EQ(mount_call(MOUNTPROC3_MNT, path_args(std::string(1025, 'x'))).answer, rpc::Answer::garbage_args);
  EXPECT_EQ(mount_call(MOUNTPROC3_UMNT, path_args(std::string(1025, 'x'))).answer, rpc::Answer::garbage_args);
  EXPECT_EQ(mount_call(MOUNTPROC3_MNT, hex("00000008 2f")).answer, rpc::Answer::garbage_args);
  EXPECT_EQ(mnt("/" + std::string(1023, 'x')).status, MNT3ERR_NOENT);
}

TEST_F(Mount, a_mount_whose_lookups_wait_answers_the_same) {
  recorder_.park(true);
  RunningCall running(mounts_.program(), 1, path_args("/dir/sub"), auth_, client_, pool_, fragment_bytes_);
  int waits = 0;
  for (; !running.done() && waits < 10; ++waits) {
    recorder_.resume_one();
    queue_.run(100);
  }
  EXPECT_EQ(waits, 2);
  EXPECT_EQ(running.answered().status, 0U);
}

TEST_F(Mount, golden_bytes_of_mnt) {
  const Answered answered = mount_call(MOUNTPROC3_MNT, hex("00000004 2f646972"));  // "/dir"
  EXPECT_EQ(to_hex(answered.results),
            to_hex(hex("00000000"               // MNT3_OK
                       + handle("00000002") +   // fhandle3
                       "00000001 00000001")));  // [AUTH_SYS]
  EXPECT_EQ(to_hex(mount_call(MOUNTPROC3_MNT, hex("00000002 2f780000")).results), "00000002")
      << "\"/x\": NOENT";
}

TEST_F(Mount, golden_bytes_of_export) {
  change_export([](vfs::Export& it) { it.clients = {*vfs::Network::parse("10.0.0.0/8")}; });
  EXPECT_EQ(to_hex(mount_call(MOUNTPROC3_EXPORT, {}).results),
            to_hex(hex("00000001"                                      // an export
                       "00000001 2f000000"                             // "/"
                       "00000001 0000000a 31302e30 2e302e30 2f380000"  // a group: "10.0.0.0/8"
                       "00000000"                                      // no more groups
                       "00000001 00000006 2f6f7468 65720000"           // "/other"
                       "00000000"                                      // for everybody
                       "00000000")));                                  // no more exports
}

TEST_F(Mount, an_export_is_listed_for_the_clients_of_all_its_rules) {
  const auto listed = [&] { return mount_call(MOUNTPROC3_EXPORT, {}).results.size(); };
  const auto of_nobody = listed();
  change_export([](vfs::Export& it) {
    it.rules.resize(1);
    it.rules[0].clients = {*vfs::Network::parse("10.0.0.0/8")};
  });
  EXPECT_EQ(listed(), of_nobody) << "the others may, too";
  change_export([](vfs::Export& it) { it.clients = {*vfs::Network::parse("10.0.0.1")}; });
  EXPECT_EQ(listed(), of_nobody + 4 + 4 + 12 + 4 + 4 + 8) << "10.0.0.1 and 10.0.0.0/8";
}

TEST_F(Mount, golden_bytes_of_dump) {
  mnt("/dir/");
  EXPECT_EQ(to_hex(mount_call(MOUNTPROC3_DUMP, {}).results),
            to_hex(hex("00000001"                             // a mount
                       "00000009 3139322e 302e322e 31000000"  // "192.0.2.1"
                       "00000004 2f646972"                    // "/dir"
                       "00000000")));                         // no more
}

TEST_F(Mount, null_umnt_and_umntall_have_no_results) {
  EXPECT_TRUE(mount_call(MOUNTPROC3_NULL, {}).results.empty());
  EXPECT_TRUE(mount_call(MOUNTPROC3_UMNT, path_args("/")).results.empty());
  EXPECT_TRUE(mount_call(MOUNTPROC3_UMNTALL, {}).results.empty());
}

TEST_F(Mount, dump_shows_what_each_client_has_mounted_and_not_unmounted) {
  mnt("/");
  mnt("/dir");
  mnt("/dir");
  mnt("/missing");
  client_ = *vfs::Address::parse("2001:db8::5");
  mnt("/dir");
  using Entries = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(dump(), (Entries{{"192.0.2.1", "/"}, {"192.0.2.1", "/dir"}, {"2001:db8::5", "/dir"}}));
  mount_call(MOUNTPROC3_UMNT, path_args("/dir/"));
  EXPECT_EQ(dump(), (Entries{{"192.0.2.1", "/"}, {"192.0.2.1", "/dir"}}));
  client_ = *vfs::Address::parse("192.0.2.1");
  mount_call(MOUNTPROC3_UMNTALL, {});
  EXPECT_EQ(dump(), Entries{});
}

TEST(MountList, a_full_list_forgets_the_oldest) {
  mount::MountList list;
  for (std::size_t i = 0; i < mount::MountList::entries_max + 2; ++i)
    list.add({1}, "c", "/" + std::to_string(i));
  const auto entries = list.entries();
  ASSERT_EQ(entries.size(), mount::MountList::entries_max);
  EXPECT_EQ(entries.front().path, "/2");
  EXPECT_EQ(entries.back().path, "/" + std::to_string(mount::MountList::entries_max + 1));
}

TEST(MountList, who_has_the_most_makes_room) {
  constexpr std::size_t others = 3;
  mount::MountList list;
  for (std::size_t i = 0; i < others; ++i) list.add({2}, "other", "/" + std::to_string(i));
  for (std::size_t i = 0; i < 2 * mount::MountList::entries_max; ++i)
    list.add({1}, "many", "/" + std::to_string(i));
  list.add({3}, "late", "/");
  const auto entries = list.entries();
  ASSERT_EQ(entries.size(), mount::MountList::entries_max);
  const auto of = [&](std::string_view client) {
    return static_cast<std::size_t>(std::ranges::count(entries, client, &mount::MountList::Entry::client));
  };
  EXPECT_EQ(of("other"), others);
  EXPECT_EQ(of("late"), 1U);
  list.remove_all("many");
  list.add({1}, "many", "/");
  EXPECT_EQ(list.entries().size(), others + 2);
}

}  // namespace
}  // namespace braid::nfs3::test
