// The name space that joins exports: RFC 8881 section 7.
#include <string>
#include <vector>

#include "tests/unit/nfs4/support/world.h"

namespace braid::nfs4::test {
namespace {

using enum nfs_opnum4;
using enum nfsstat4;

std::string handle_after(World& world, Request request, const Caller& caller = {}) {
  Reply reply = world.send(request.add(OP_GETFH), caller);
  EXPECT_EQ(reply.status(), NFS4_OK);
  std::string handle;
  for (std::uint32_t i = 0; i + 1 < reply.count(); ++i) {
    // Every operation before GETFH has a status only.
    (void)reply.result<LOOKUP4res>(i == 0 ? OP_PUTROOTFH : OP_LOOKUP);
  }
  const auto got = reply.result<GETFH4res>(OP_GETFH);
  if (got.resok4() != nullptr) handle = base::text_of(got.resok4()->object);
  return handle;
}

nfsstat4 status_after(World& world, const Request& request, const Caller& caller = {}) {
  return world.send(request, caller).status();
}

Request walk(std::initializer_list<std::string_view> names) {
  Request request(0);
  request.add(OP_PUTROOTFH);
  for (const std::string_view name : names) request.add(OP_LOOKUP, LOOKUP4args{name});
  return request;
}

TEST(PseudoFileSystem, leads_to_exports_by_their_paths) {
  World world({}, {{.path = "/data/home"}, {.path = "/scratch"}});
  world.write_local("file", "");
  EXPECT_EQ(status_after(world, walk({"data", "home", "file"})), NFS4_OK);
  EXPECT_EQ(status_after(world, walk({"scratch"})), NFS4_OK);
  EXPECT_EQ(status_after(world, walk({"home"})), NFS4ERR_NOENT);
}

TEST(PseudoFileSystem, lookupp_crosses_back_and_ends_at_the_root) {
  World world({}, {{.path = "/data/home"}, {.path = "/scratch"}});
  const std::string root = handle_after(world, walk({}));
  Reply reply = world.send(walk({"data", "home"}).add(OP_LOOKUPP).add(OP_LOOKUPP).add(OP_GETFH));
  ASSERT_EQ(reply.status(), NFS4_OK);
  for (const nfs_opnum4 number : {OP_PUTROOTFH, OP_LOOKUP, OP_LOOKUP, OP_LOOKUPP, OP_LOOKUPP})
    EXPECT_EQ(reply.status_of(number), NFS4_OK);
  EXPECT_EQ(base::text_of(reply.result<GETFH4res>(OP_GETFH).resok4()->object), root);
  EXPECT_EQ(status_after(world, walk({}).add(OP_LOOKUPP)), NFS4ERR_NOENT);
}

TEST(PseudoFileSystem, handles_outlive_a_restart) {
  World world({}, {{.path = "/data/home"}, {.path = "/scratch"}});
  const std::string data = handle_after(world, walk({"data"}));
  world.restart();
  Request request(0);
  request.add(OP_PUTFH, PUTFH4args{base::bytes_of(data)}).add(OP_LOOKUP, LOOKUP4args{"home"});
  EXPECT_EQ(status_after(world, request), NFS4_OK);
}

TEST(PseudoFileSystem, cannot_be_changed) {
  World world({}, {{.path = "/data"}, {.path = "/scratch"}});
  EXPECT_EQ(status_after(world, walk({}).add(OP_REMOVE, REMOVE4args{"data"})), NFS4ERR_ROFS);
  CREATE4args create;
  create.objtype = createtype4::with_NF4SOCK(nfs_ftype4::NF4DIR);
  create.objname = "new";
  EXPECT_EQ(status_after(world, walk({}).add(OP_CREATE, create)), NFS4ERR_ROFS);
  EXPECT_EQ(status_after(world, walk({}).add(OP_READ, READ4args{anonymous(), 0, 1})), NFS4ERR_ISDIR);
}

TEST(Rules, the_first_one_that_names_a_client_is_his) {
  vfs::ExportRule reads;
  reads.clients = {*vfs::Network::parse("198.51.100.0/24")};
  reads.squash = vfs::Squash::none;
  reads.read_only = true;
  World world({}, {{.path = "/data", .clients = {"192.0.2.1"}, .rules = {reads}}});
  CREATE4args create;
  create.objtype = createtype4::with_NF4SOCK(nfs_ftype4::NF4DIR);
  create.objname = "new";
  const Request request = walk({"data"}).add(OP_CREATE, create);
  EXPECT_EQ(status_after(world, request, {.address = "198.51.100.9"}), NFS4ERR_ROFS);
  const std::string data = handle_after(world, walk({"data"}));
  const Request by_handle = Request(0).add(OP_PUTFH, PUTFH4args{base::bytes_of(data)}).add(OP_CREATE, create);
  EXPECT_EQ(status_after(world, by_handle, {.address = "198.51.100.9"}), NFS4ERR_ROFS);
  EXPECT_EQ(status_after(world, by_handle, {.address = "203.0.113.1"}), NFS4ERR_ACCESS);
  EXPECT_EQ(status_after(world, request), NFS4_OK);
}

TEST(PseudoFileSystem, shows_nobody_what_is_not_for_him) {
  World world({}, {{.path = "/mine/home", .clients = {"192.0.2.1"}}, {.path = "/all"}});
  const Caller stranger{.address = "198.51.100.9"};
  EXPECT_EQ(status_after(world, walk({"mine"})), NFS4_OK);
  EXPECT_EQ(status_after(world, walk({"mine"}), stranger), NFS4ERR_NOENT);
  EXPECT_EQ(status_after(world, walk({"all"}), stranger), NFS4_OK);
  const std::string home = handle_after(world, walk({"mine", "home"}));
  EXPECT_EQ(status_after(world, Request(0).add(OP_PUTFH, PUTFH4args{base::bytes_of(home)}), stranger),
            NFS4ERR_ACCESS);
}

TEST(PseudoFileSystem, what_readdir_hides_cannot_be_found_by_name_or_by_a_handle_made_up) {
  World world({}, {{.path = "/mine", .clients = {"192.0.2.1"}},
                   {.path = "/deep/mine", .clients = {"192.0.2.1"}},
                   {.path = "/all"}});
  const Caller stranger{.address = "198.51.100.9"};
  EXPECT_EQ(status_after(world, walk({"mine"})), NFS4_OK);
  EXPECT_EQ(status_after(world, walk({"mine"}), stranger), NFS4ERR_NOENT);
  EXPECT_EQ(status_after(world, walk({}).add(OP_SECINFO, SECINFO4args{"mine"}), stranger), NFS4ERR_NOENT);
  const std::string deep = handle_after(world, walk({"deep"}));
  EXPECT_EQ(status_after(world, Request(0).add(OP_PUTFH, PUTFH4args{base::bytes_of(deep)})), NFS4_OK);
  EXPECT_EQ(status_after(world, Request(0).add(OP_PUTFH, PUTFH4args{base::bytes_of(deep)}), stranger),
            NFS4ERR_STALE);
}

TEST(PseudoFileSystem, a_root_that_is_for_others_is_no_secret) {
  World world({}, {{.path = "/", .clients = {"192.0.2.1"}}});
  EXPECT_EQ(status_after(world, walk({}), Caller{.address = "198.51.100.9"}), NFS4ERR_ACCESS);
}

TEST(PseudoFileSystem, export_below_an_export_goes_before_what_is_in_the_directory) {
  World world({}, {{.path = "/"}, {.path = "/sub"}});
  const std::string root = handle_after(world, walk({}));
  EXPECT_NE(handle_after(world, walk({"sub"})), root);
  Reply up = world.send(walk({"sub"}).add(OP_LOOKUPP).add(OP_GETFH));
  ASSERT_EQ(up.status(), NFS4_OK);
  for (const nfs_opnum4 number : {OP_PUTROOTFH, OP_LOOKUP, OP_LOOKUPP})
    EXPECT_EQ(up.status_of(number), NFS4_OK);
  EXPECT_EQ(base::text_of(up.result<GETFH4res>(OP_GETFH).resok4()->object), root);
  EXPECT_EQ(status_after(world, walk({}).add(OP_REMOVE, REMOVE4args{"sub"})), NFS4ERR_FILE_OPEN);
}

TEST(PseudoFileSystem, what_is_hidden_below_an_export_is_neither_removed_nor_made_nor_told_of) {
  World world({}, {{.path = "/"}, {.path = "/sub", .clients = {"192.0.2.1"}}});
  world.write_local("file", "");
  const Caller stranger{.address = "198.51.100.9"};
  const auto statuses = [&](const Caller& caller) {
    CREATE4args directory;
    directory.objtype = createtype4::with_NF4SOCK(nfs_ftype4::NF4DIR);
    directory.objname = "sub";
    std::vector<nfsstat4> out;
    out.push_back(status_after(world, walk({}).add(OP_REMOVE, REMOVE4args{"sub"}), caller));
    out.push_back(
        status_after(world, walk({}).add(OP_SAVEFH).add(OP_RENAME, RENAME4args{"sub", "other"}), caller));
    out.push_back(
        status_after(world, walk({}).add(OP_SAVEFH).add(OP_RENAME, RENAME4args{"file", "sub"}), caller));
    out.push_back(status_after(world, walk({}).add(OP_CREATE, directory), caller));
    Request link = walk({"file"});
    link.add(OP_SAVEFH).add(OP_PUTROOTFH).add(OP_LINK, LINK4args{"sub"});
    out.push_back(status_after(world, link, caller));
    SessionClient client(world, 2, caller.address, caller);
    Request open = client.request();
    OPEN4args creating;
    creating.share_access = OPEN4_SHARE_ACCESS_BOTH | OPEN4_SHARE_ACCESS_WANT_NO_DELEG;
    creating.owner = {client.id(), base::bytes_of("owner")};
    creating.claim = open_claim4::with_file("sub");
    creating.openhow = openflag4::with_how(createhow4::with_createattrs(createmode4::UNCHECKED4, {}));
    out.push_back(client.send(open.add(OP_PUTROOTFH).add(OP_OPEN, creating)).status());
    return out;
  };
  EXPECT_EQ(statuses(stranger), (std::vector{NFS4ERR_NOENT, NFS4ERR_NOENT, NFS4ERR_ACCESS, NFS4ERR_ACCESS,
                                             NFS4ERR_ACCESS, NFS4ERR_ACCESS}));
  EXPECT_EQ(statuses({}), (std::vector{NFS4ERR_FILE_OPEN, NFS4ERR_FILE_OPEN, NFS4ERR_FILE_OPEN, NFS4ERR_EXIST,
                                       NFS4ERR_EXIST, NFS4ERR_ISDIR}));
}

TEST(Handles, of_nobody_are_bad_and_of_vanished_exports_stale) {
  World world({}, {{.path = "/data"}, {.path = "/scratch"}});
  const auto put = [&](std::string_view handle) {
    return status_after(world, Request(0).add(OP_PUTFH, PUTFH4args{base::bytes_of(handle)}));
  };
  EXPECT_EQ(put("abc"), NFS4ERR_BADHANDLE);
  EXPECT_EQ(put(""), NFS4ERR_BADHANDLE);
  std::string data = handle_after(world, walk({"data"}));
  data.back() = static_cast<char>(data.back() ^ 1);
  EXPECT_EQ(put(data), NFS4ERR_BADHANDLE);
  EXPECT_EQ(put(std::string(12, '\0')), NFS4ERR_STALE);
}

TEST(Security, is_told_by_name_and_consumes_the_filehandle_with_sessions) {
  World world;
  world.write_local("file", "");
  Reply plain = world.send(walk({}).add(OP_SECINFO, SECINFO4args{"file"}).add(OP_GETFH));
  EXPECT_EQ(plain.status(), NFS4_OK);
  EXPECT_EQ(plain.status_of(OP_PUTROOTFH), NFS4_OK);
  const auto told = plain.result<SECINFO4res>(OP_SECINFO);
  ASSERT_NE(told.resok4(), nullptr);
  ASSERT_EQ(told.resok4()->size(), 2U);
  EXPECT_EQ((*told.resok4())[0].flavor, SECINFO_AUTH_SYS);
  SessionClient client(world, 1, "client");
  Request request = client.request();
  request.add(OP_PUTROOTFH).add(OP_SECINFO, SECINFO4args{"file"}).add(OP_GETFH);
  EXPECT_EQ(client.send(request).status(), NFS4ERR_NOFILEHANDLE);
  Request unnamed = client.request();
  unnamed.add(OP_PUTROOTFH)
      .add(OP_SECINFO_NO_NAME, SECINFO_NO_NAME4args{secinfo_style4::SECINFO_STYLE4_PARENT});
  EXPECT_EQ(client.send(unnamed).status(), NFS4ERR_NOENT);
}

}  // namespace
}  // namespace braid::nfs4::test
