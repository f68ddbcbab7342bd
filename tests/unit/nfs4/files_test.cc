// Operations on filehandles, names and data over a real directory.
#include <sys/stat.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>

#include "tests/unit/nfs4/support/world.h"

namespace braid::nfs4::test {
namespace {

using enum nfs_opnum4;
using enum nfsstat4;

class Files : public ::testing::Test {
 protected:
  Request at(std::initializer_list<std::string_view> names) {
    Request request = client_.request();
    request.add(OP_PUTROOTFH);
    for (const std::string_view name : names) request.add(OP_LOOKUP, LOOKUP4args{name});
    return request;
  }
  nfsstat4 status(const Request& request) { return client_.send(request).status(); }
  [[nodiscard]] std::string path(std::string_view name) const {
    return world_.directory() + "/" + std::string(name);
  }
  void make_directory(std::string_view name) { std::filesystem::create_directory(path(name)); }

  World world_;
  SessionClient client_{world_, 2, "client"};
};

TEST_F(Files, lookup_refuses_what_is_no_directory) {
  world_.write_local("file", "");
  std::filesystem::create_symlink("file", path("link"));
  EXPECT_EQ(status(at({"file", "x"})), NFS4ERR_NOTDIR);
  EXPECT_EQ(status(at({"link", "x"})), NFS4ERR_SYMLINK);
  EXPECT_EQ(status(at({"file"}).add(OP_LOOKUPP)), NFS4ERR_NOTDIR);
  EXPECT_EQ(status(at({"none"})), NFS4ERR_NOENT);
  EXPECT_EQ(status(at({".."})), NFS4ERR_BADNAME);
}

TEST_F(Files, readlink_gives_the_target) {
  std::filesystem::create_symlink("../somewhere", path("link"));
  Reply reply = client_.send(at({"link"}).add(OP_READLINK));
  ASSERT_EQ(reply.status(), NFS4_OK);
  EXPECT_EQ(reply.status_of(OP_PUTROOTFH), NFS4_OK);
  EXPECT_EQ(reply.status_of(OP_LOOKUP), NFS4_OK);
  EXPECT_EQ(reply.result<READLINK4res>(OP_READLINK).resok4()->link, "../somewhere");
  world_.write_local("file", "");
  EXPECT_EQ(status(at({"file"}).add(OP_READLINK)), NFS4ERR_WRONG_TYPE);
}

TEST_F(Files, create_makes_directories_links_and_nodes_but_no_files) {
  const auto create = [](std::string_view name, createtype4 type) {
    CREATE4args args;
    args.objtype = std::move(type);
    args.objname = name;
    return args;
  };
  EXPECT_EQ(status(at({}).add(OP_CREATE, create("d", createtype4::with_NF4SOCK(nfs_ftype4::NF4DIR)))),
            NFS4_OK);
  EXPECT_TRUE(std::filesystem::is_directory(path("d")));
  EXPECT_EQ(status(at({}).add(OP_CREATE, create("l", createtype4::with_linkdata("there")))), NFS4_OK);
  EXPECT_EQ(std::filesystem::read_symlink(path("l")), "there");
  EXPECT_EQ(status(at({}).add(OP_CREATE, create("f", createtype4::with_NF4SOCK(nfs_ftype4::NF4FIFO)))),
            NFS4_OK);
  EXPECT_TRUE(std::filesystem::is_fifo(path("f")));
  EXPECT_EQ(status(at({}).add(OP_CREATE, create("r", createtype4::with_default(nfs_ftype4::NF4REG)))),
            NFS4ERR_BADTYPE);
  EXPECT_EQ(status(at({}).add(OP_CREATE, create("d", createtype4::with_NF4SOCK(nfs_ftype4::NF4DIR)))),
            NFS4ERR_EXIST);
}

// What one operation has seen serves the next, but not after a change.
TEST_F(Files, a_compound_sees_its_own_changes) {
  world_.write_local("file", "text");
  world_.write_local("other", "");
  static constexpr std::array<std::uint32_t, 1> size{1U << FATTR4_SIZE};
  io::SlabCursor cursor(test_slabs());
  xdr::Encoder out(cursor);
  out.u64(2);
  const io::Payload two = out.finish().bytes;
  const SETATTR4args shorter{.stateid = {}, .obj_attributes = {.attrmask = size, .attr_vals = two}};
  const WRITE4args write{.stateid = {}, .offset = 2, .stable = stable_how4::UNSTABLE4, .data = two};
  Request request = at({"file"});
  request.add(OP_ACCESS, ACCESS4args{ACCESS4_READ}).add(OP_GETATTR, GETATTR4args{size});
  request.add(OP_SETATTR, shorter).add(OP_GETATTR, GETATTR4args{size});
  request.add(OP_WRITE, write).add(OP_GETATTR, GETATTR4args{size}).add(OP_SAVEFH).add(OP_PUTROOTFH);
  request.add(OP_LOOKUP, LOOKUP4args{"other"}).add(OP_GETATTR, GETATTR4args{size});
  request.add(OP_RESTOREFH).add(OP_GETATTR, GETATTR4args{size});
  Reply reply = client_.send(request);
  const auto size_seen = [&] { return size_in(reply.result<GETATTR4res>(OP_GETATTR)); };
  ASSERT_EQ(reply.status(), NFS4_OK);
  EXPECT_EQ(reply.status_of(OP_PUTROOTFH), NFS4_OK);
  EXPECT_EQ(reply.status_of(OP_LOOKUP), NFS4_OK);
  EXPECT_EQ(reply.result<ACCESS4res>(OP_ACCESS).resok4()->access, ACCESS4_READ);
  EXPECT_EQ(size_seen(), 4U);
  EXPECT_EQ(reply.result<SETATTR4res>(OP_SETATTR).status, NFS4_OK);
  EXPECT_EQ(size_seen(), 2U);
  EXPECT_EQ(reply.result<WRITE4res>(OP_WRITE).resok4()->count, 8U);
  EXPECT_EQ(size_seen(), 10U);
  for (const nfs_opnum4 op : {OP_SAVEFH, OP_PUTROOTFH, OP_LOOKUP}) EXPECT_EQ(reply.status_of(op), NFS4_OK);
  EXPECT_EQ(size_seen(), 0U);
  EXPECT_EQ(reply.status_of(OP_RESTOREFH), NFS4_OK);
  EXPECT_EQ(size_seen(), 10U);
}

// Each look at the file system is a system call.
TEST_F(Files, a_compound_looks_only_once_at_what_it_has_seen) {
  static constexpr std::array<std::uint32_t, 1> size{1U << FATTR4_SIZE};
  const auto with_attributes = [&](Request request) {
    return request.add(OP_ACCESS, ACCESS4args{ACCESS4_READ}).add(OP_GETATTR, GETATTR4args{size});
  };
  OPEN4args args;
  args.share_access = OPEN4_SHARE_ACCESS_BOTH;
  args.owner.owner = base::bytes_of(std::string_view("owner"));
  args.openhow = openflag4::with_how(createhow4::with_createattrs(createmode4::UNCHECKED4, {}));
  args.claim = open_claim4::with_file("file");
  const vfs::FaultyFileSystem& fs = world_.watched();
  EXPECT_EQ(status(with_attributes(at({}).add(OP_OPEN, args))), NFS4_OK);
  EXPECT_EQ(status(with_attributes(at({"file"}))), NFS4_OK);
  EXPECT_EQ(fs.calls(vfs::Operation::open_create), 1U);
  EXPECT_EQ(fs.calls(vfs::Operation::lookup), 1U);
  EXPECT_EQ(fs.calls(vfs::Operation::getattr), 0U);
  EXPECT_EQ(status(with_attributes(at({"file"}).add(OP_WRITE, WRITE4args{.stateid = {}}))), NFS4_OK);
  EXPECT_EQ(fs.calls(vfs::Operation::getattr), 1U) << "it may have changed";
}

TEST_F(Files, remove_takes_files_and_empty_directories) {
  world_.write_local("file", "");
  make_directory("empty");
  make_directory("full");
  world_.write_local("full/x", "");
  Reply reply = client_.send(at({}).add(OP_REMOVE, REMOVE4args{"file"}));
  ASSERT_EQ(reply.status(), NFS4_OK);
  EXPECT_EQ(reply.status_of(OP_PUTROOTFH), NFS4_OK);
  const auto removed = reply.result<REMOVE4res>(OP_REMOVE);
  EXPECT_TRUE(removed.resok4()->cinfo.atomic_);
  EXPECT_NE(removed.resok4()->cinfo.before, removed.resok4()->cinfo.after);
  EXPECT_EQ(status(at({}).add(OP_REMOVE, REMOVE4args{"empty"})), NFS4_OK);
  EXPECT_EQ(status(at({}).add(OP_REMOVE, REMOVE4args{"full"})), NFS4ERR_NOTEMPTY);
  EXPECT_EQ(status(at({}).add(OP_REMOVE, REMOVE4args{"none"})), NFS4ERR_NOENT);
}

TEST_F(Files, rename_moves_between_directories) {
  make_directory("a");
  make_directory("b");
  world_.write_local("a/x", "text");
  Request request = at({"a"});
  request.add(OP_SAVEFH)
      .add(OP_PUTROOTFH)
      .add(OP_LOOKUP, LOOKUP4args{"b"})
      .add(OP_RENAME, RENAME4args{"x", "y"});
  EXPECT_EQ(status(request), NFS4_OK);
  EXPECT_EQ(world_.read_local("b/y"), "text");
}

TEST_F(Files, rename_of_a_directory_over_something_else_finds_it_existing) {
  make_directory("d");
  world_.write_local("f", "");
  const auto rename = [&](std::string_view from, std::string_view to) {
    return status(at({}).add(OP_SAVEFH).add(OP_RENAME, RENAME4args{from, to}));
  };
  EXPECT_EQ(rename("d", "f"), NFS4ERR_EXIST);
  EXPECT_EQ(rename("f", "d"), NFS4ERR_EXIST);
  EXPECT_EQ(rename("none", "f"), NFS4ERR_NOENT);
}

TEST_F(Files, link_adds_a_name_to_what_is_no_directory) {
  world_.write_local("file", "text");
  make_directory("d");
  EXPECT_EQ(status(at({"file"}).add(OP_SAVEFH).add(OP_PUTROOTFH).add(OP_LINK, LINK4args{"second"})), NFS4_OK);
  EXPECT_EQ(world_.read_local("second"), "text");
  EXPECT_EQ(status(at({"d"}).add(OP_SAVEFH).add(OP_PUTROOTFH).add(OP_LINK, LINK4args{"third"})),
            NFS4ERR_ISDIR);
}

TEST_F(Files, access_says_what_the_caller_may_do_and_refuses_unknown_bits) {
  world_.write_local("file", "");
  ASSERT_EQ(::chmod(path("file").c_str(), 0444), 0);
  SessionClient user(world_, 2, "user", {.uid = 1234, .gid = 1234});
  Request ask = user.request();
  ask.add(OP_PUTROOTFH)
      .add(OP_LOOKUP, LOOKUP4args{"file"})
      .add(OP_ACCESS, ACCESS4args{ACCESS4_READ | ACCESS4_MODIFY | ACCESS4_XAREAD | ACCESS4_XAWRITE});
  Reply reply = user.send(ask);
  ASSERT_EQ(reply.status(), NFS4_OK);
  EXPECT_EQ(reply.status_of(OP_PUTROOTFH), NFS4_OK);
  EXPECT_EQ(reply.status_of(OP_LOOKUP), NFS4_OK);
  EXPECT_EQ(reply.result<ACCESS4res>(OP_ACCESS).resok4()->access, ACCESS4_READ | ACCESS4_XAREAD);
  EXPECT_EQ(status(at({"file"}).add(OP_ACCESS, ACCESS4args{0x8000})), NFS4ERR_INVAL);
}

TEST_F(Files, access_supports_what_has_a_meaning_for_the_type) {
  world_.write_local("file", "");
  constexpr std::uint32_t common = ACCESS4_READ | ACCESS4_MODIFY | ACCESS4_EXTEND;
  constexpr std::uint32_t directory = common | ACCESS4_LOOKUP | ACCESS4_DELETE;
  const ACCESS4args all{directory | ACCESS4_EXECUTE};
  Reply file = client_.send(at({"file"}).add(OP_ACCESS, all));
  Reply root = client_.send(at({}).add(OP_ACCESS, all));
  ASSERT_EQ(file.status(), NFS4_OK);
  EXPECT_EQ(file.status_of(OP_PUTROOTFH), NFS4_OK);
  EXPECT_EQ(file.status_of(OP_LOOKUP), NFS4_OK);
  EXPECT_EQ(file.result<ACCESS4res>(OP_ACCESS).resok4()->supported, common | ACCESS4_EXECUTE);
  EXPECT_EQ(root.status_of(OP_PUTROOTFH), NFS4_OK);
  EXPECT_EQ(root.result<ACCESS4res>(OP_ACCESS).resok4()->supported, directory);
}

TEST_F(Files, data_is_read_and_written_without_an_open) {
  world_.write_local("file", "0123456789");
  Reply reply = client_.send(at({"file"}).add(OP_READ, READ4args{anonymous(), 4, 3}));
  ASSERT_EQ(reply.status(), NFS4_OK);
  EXPECT_EQ(reply.status_of(OP_PUTROOTFH), NFS4_OK);
  EXPECT_EQ(reply.status_of(OP_LOOKUP), NFS4_OK);
  const auto read = reply.result<READ4res>(OP_READ);
  EXPECT_FALSE(read.resok4()->eof);
  base::Bytes data(read.resok4()->data.size());
  read.resok4()->data.in_memory().value().copy_to(0, data);
  EXPECT_EQ(base::text_of(data), "456");
}

TEST_F(Files, data_of_other_objects_is_refused_by_their_type) {
  make_directory("d");
  std::filesystem::create_symlink("x", path("l"));
  ASSERT_EQ(::mkfifo(path("f").c_str(), 0600), 0);
  const auto read = [&](std::string_view name) {
    return status(at({name}).add(OP_READ, READ4args{anonymous(), 0, 1}));
  };
  EXPECT_EQ(read("d"), NFS4ERR_ISDIR);
  EXPECT_EQ(read("l"), NFS4ERR_SYMLINK);
  EXPECT_EQ(read("f"), NFS4ERR_WRONG_TYPE);
}

TEST_F(Files, commit_answers_the_verifier_of_write) {
  world_.write_local("file", "");
  io::SlabCursor cursor(test_slabs());
  Request request = at({"file"});
  request
      .add(OP_WRITE, WRITE4args{anonymous(), 0, stable_how4::UNSTABLE4, io::Payload(cursor.carve(4).value())})
      .add(OP_COMMIT, COMMIT4args{0, 0});
  Reply reply = client_.send(request);
  ASSERT_EQ(reply.status(), NFS4_OK);
  EXPECT_EQ(reply.status_of(OP_PUTROOTFH), NFS4_OK);
  EXPECT_EQ(reply.status_of(OP_LOOKUP), NFS4_OK);
  const auto written = reply.result<WRITE4res>(OP_WRITE);
  const auto committed = reply.result<COMMIT4res>(OP_COMMIT);
  EXPECT_EQ(written.resok4()->writeverf, committed.resok4()->writeverf);
  EXPECT_EQ(status(at({"file"}).add(OP_COMMIT, COMMIT4args{~0ULL, 2})), NFS4ERR_INVAL);
}

}  // namespace
}  // namespace braid::nfs4::test
