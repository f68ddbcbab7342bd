// SEEK, ALLOCATE, DEALLOCATE, READ_PLUS, CLONE, COPY and IO_ADVISE: RFC 7862 section 15.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/bytes.h"
#include "tests/unit/nfs4/ops_42/fixture.h"

namespace braid::nfs4::test {
namespace {

using enum nfs_opnum4;
using enum nfsstat4;

class Content : public Extended {
 protected:
  [[nodiscard]] std::string path(std::string_view name) const {
    return world_.directory() + "/" + std::string(name);
  }
  // 64 KiB of data, a hole up to 512 KiB, 64 KiB of data, a hole up to 1 MiB.
  void write_sparse(std::string_view name) const {
    world_.write_local(name, std::string(data_bytes, 'a'));
    std::fstream file(path(name), std::ios::in | std::ios::out);
    file.seekp(second);
    file << std::string(data_bytes, 'b');
    file.close();
    std::filesystem::resize_file(path(name), file_bytes);
  }
  std::optional<seek_res4> seek(std::string_view name, std::uint64_t offset, data_content4 what) {
    Reply reply = behind_at(at({name}).add(OP_SEEK, SEEK4args{anonymous(), offset, what}));
    auto result = reply.result<SEEK4res>(OP_SEEK);
    failure_ = result.sa_status;
    if (result.resok4() == nullptr) return std::nullopt;
    return *result.resok4();
  }
  static COPY4args copy_args(std::uint64_t from, std::uint64_t onto, std::uint64_t count) {
    COPY4args args;
    args.ca_src_stateid = anonymous();
    args.ca_dst_stateid = anonymous();
    args.ca_src_offset = from;
    args.ca_dst_offset = onto;
    args.ca_count = count;
    args.ca_consecutive = true;
    args.ca_synchronous = true;
    return args;
  }

  static constexpr std::size_t data_bytes = 64 * base::KiB;
  static constexpr std::size_t second = 512 * base::KiB;
  static constexpr std::size_t file_bytes = base::MiB;
  nfsstat4 failure_ = NFS4_OK;
};

TEST_F(Content, seek_finds_data_and_holes) {
  write_sparse("file");
  EXPECT_EQ(seek("file", 0, data_content4::NFS4_CONTENT_HOLE)->sr_offset, data_bytes);
  const auto data = seek("file", data_bytes, data_content4::NFS4_CONTENT_DATA);
  EXPECT_EQ(data->sr_offset, second);
  EXPECT_FALSE(data->sr_eof);
  EXPECT_TRUE(seek("file", second + data_bytes, data_content4::NFS4_CONTENT_DATA)->sr_eof);
}

TEST_F(Content, seek_outside_the_file_is_nxio_and_a_directory_has_no_content) {
  world_.write_local("file", "0123456789");
  EXPECT_FALSE(seek("file", 10, data_content4::NFS4_CONTENT_DATA));
  EXPECT_EQ(failure_, NFS4ERR_NXIO);
  std::filesystem::create_directory(path("directory"));
  const SEEK4args args{anonymous(), 0, data_content4::NFS4_CONTENT_DATA};
  EXPECT_EQ(status(at({"directory"}).add(OP_SEEK, args)), NFS4ERR_ISDIR);
  std::filesystem::create_symlink("file", path("link"));
  EXPECT_EQ(status(at({"link"}).add(OP_SEEK, args)), NFS4ERR_SYMLINK);
}

TEST_F(Content, allocate_extends_and_deallocate_makes_a_hole) {
  world_.write_local("file", std::string(4 * data_bytes, 'x'));
  EXPECT_EQ(status(at({"file"}).add(OP_ALLOCATE, ALLOCATE4args{anonymous(), 0, base::MiB})), NFS4_OK);
  EXPECT_EQ(std::filesystem::file_size(path("file")), base::MiB);
  EXPECT_EQ(status(at({"file"}).add(OP_DEALLOCATE, DEALLOCATE4args{anonymous(), data_bytes, data_bytes})),
            NFS4_OK);
  EXPECT_EQ(world_.read_local("file").substr(data_bytes - 1, 2), std::string("x\0", 2));
  EXPECT_EQ(seek("file", 0, data_content4::NFS4_CONTENT_HOLE)->sr_offset, data_bytes);
  EXPECT_EQ(status(at({"file"}).add(OP_ALLOCATE, ALLOCATE4args{anonymous(), 0, 0})), NFS4ERR_INVAL);
  const std::uint64_t far = ~std::uint64_t{0} - 1;
  EXPECT_EQ(status(at({"file"}).add(OP_DEALLOCATE, DEALLOCATE4args{anonymous(), far, 5})), NFS4ERR_FBIG);
}

TEST_F(Content, an_ordinary_user_needs_the_right_to_write) {
  world_.write_local("file", "text");
  ASSERT_EQ(::chmod(path("file").c_str(), 0644), 0);
  SessionClient user(world_, 2, "user", {.uid = 1234, .gid = 1234});
  Request request = user.request();
  to(request, {"file"}).add(OP_ALLOCATE, ALLOCATE4args{anonymous(), 0, 10});
  EXPECT_EQ(user.send(request).status(), NFS4ERR_ACCESS);
}

// A piece of a READ_PLUS result.
struct Piece {
  data_content4 kind;
  std::uint64_t offset, length;
  char first = 0;
  friend bool operator==(const Piece&, const Piece&) = default;
};
void PrintTo(const Piece& piece, std::ostream* out) {
  *out << (piece.kind == data_content4::NFS4_CONTENT_HOLE ? "hole " : "data ") << piece.offset << "+"
       << piece.length;
}
constexpr auto data = data_content4::NFS4_CONTENT_DATA;
constexpr auto hole = data_content4::NFS4_CONTENT_HOLE;

class ReadPlus : public Content {
 protected:
  std::vector<Piece> read_plus(std::string_view name, std::uint64_t offset, std::uint32_t count) {
    Reply reply = behind_at(at({name}).add(OP_READ_PLUS, READ_PLUS4args{anonymous(), offset, count}));
    const auto result = reply.result<READ_PLUS4res>(OP_READ_PLUS);
    std::vector<Piece> out;
    if (result.rp_resok4() == nullptr) {
      ADD_FAILURE() << name_of(result.rp_status);
      return out;
    }
    EXPECT_TRUE(reply.at_end());
    eof_ = result.rp_resok4()->rpr_eof;
    for (const read_plus_content& content : result.rp_resok4()->rpr_contents) {
      if (const data4* bytes = content.rpc_data())
        out.push_back({data, bytes->d_offset, bytes->d_data.size(),
                       bytes->d_data.empty() ? '\0' : static_cast<char>(bytes->d_data[0])});
      else
        out.push_back({hole, content.rpc_hole()->di_offset, content.rpc_hole()->di_length});
    }
    return out;
  }
  bool eof_ = false;
};

TEST_F(ReadPlus, gives_data_and_holes_in_order) {
  write_sparse("file");
  const std::vector<Piece> expected = {
      {data, 0, data_bytes, 'a'}, {hole, data_bytes, second - data_bytes}, {data, second, data_bytes, 'b'}};
  EXPECT_EQ(read_plus("file", 0, second + data_bytes), expected);
  EXPECT_FALSE(eof_);
}

TEST_F(ReadPlus, stays_within_the_range) {
  write_sparse("file");
  EXPECT_EQ(read_plus("file", 100, 50), (std::vector<Piece>{{data, 100, 50, 'a'}}));
  EXPECT_EQ(read_plus("file", 2 * data_bytes, 4096), (std::vector<Piece>{{hole, 2 * data_bytes, 4096}}));
  EXPECT_FALSE(eof_);
  EXPECT_EQ(read_plus("file", second - 4096, 8192),
            (std::vector<Piece>{{hole, second - 4096, 4096}, {data, second, 4096, 'b'}}));
}

TEST_F(ReadPlus, says_where_the_file_ends) {
  write_sparse("file");
  const std::uint64_t from = file_bytes - 4096;
  EXPECT_EQ(read_plus("file", from, 4096), (std::vector<Piece>{{hole, from, 4096}}));
  EXPECT_TRUE(eof_);
  EXPECT_EQ(read_plus("file", file_bytes, 10), std::vector<Piece>());
  EXPECT_TRUE(eof_);
  world_.write_local("small", "0123456789");
  EXPECT_EQ(read_plus("small", 4, 100), (std::vector<Piece>{{data, 4, 6, '4'}}));
  EXPECT_TRUE(eof_);
  EXPECT_EQ(read_plus("small", 4, 6), (std::vector<Piece>{{data, 4, 6, '4'}}));
  EXPECT_TRUE(eof_);
  EXPECT_EQ(read_plus("small", 4, 5), (std::vector<Piece>{{data, 4, 5, '4'}}));
  EXPECT_FALSE(eof_);
  world_.write_local("empty", "");
  EXPECT_EQ(read_plus("empty", 0, 100), std::vector<Piece>());
  EXPECT_TRUE(eof_);
}

TEST_F(ReadPlus, answers_many_pieces_in_part) {
  world_.write_local("file", "");
  std::fstream file(path("file"), std::ios::in | std::ios::out);
  for (int i = 0; i < 100; ++i) {
    file.seekp(i * static_cast<int>(2 * data_bytes));
    file << std::string(4096, 'x');
  }
  file.close();
  std::uint64_t offset = 0;
  std::size_t pieces = 0;
  for (bool end = false; !end; end = eof_) {
    const auto got = read_plus("file", offset, 100 * 2 * data_bytes);
    ASSERT_FALSE(got.empty());
    EXPECT_EQ(got.front().offset, offset);
    offset = got.back().offset + got.back().length;
    pieces += got.size();
  }
  EXPECT_EQ(offset, std::filesystem::file_size(path("file")));
  EXPECT_GE(pieces, 199U);
}

TEST_F(Content, clone_on_a_file_system_without_reflinks_is_not_supported) {
  world_.write_local("from", "text");
  world_.write_local("to", "");
  EXPECT_EQ(status(between("from", "to").add(OP_CLONE, CLONE4args{anonymous(), anonymous(), 0, 0, 0})),
            NFS4ERR_NOTSUPP);
}

TEST_F(Content, copy_of_a_range_and_to_the_end) {
  world_.write_local("from", "0123456789");
  world_.write_local("to", "abcdefghij");
  Reply reply = behind_between(between("from", "to").add(OP_COPY, copy_args(2, 4, 3)));
  auto result = reply.result<COPY4res>(OP_COPY);
  ASSERT_NE(result.cr_resok4(), nullptr);
  EXPECT_EQ(result.cr_resok4()->cr_response.wr_count, 3U);
  EXPECT_TRUE(result.cr_resok4()->cr_response.wr_callback_id.empty());
  EXPECT_TRUE(result.cr_resok4()->cr_requirements.cr_synchronous);
  EXPECT_EQ(world_.read_local("to"), "abcd234hij");
  Reply rest = behind_between(between("from", "to").add(OP_COPY, copy_args(8, 0, 0)));
  EXPECT_EQ(rest.result<COPY4res>(OP_COPY).cr_resok4()->cr_response.wr_count, 2U);
  EXPECT_EQ(world_.read_local("to"), "89cd234hij");
}

TEST_F(Content, copy_refuses_what_is_not_there_and_what_overlaps) {
  world_.write_local("from", "0123456789");
  world_.write_local("to", "");
  EXPECT_EQ(status(between("from", "to").add(OP_COPY, copy_args(5, 0, 6))), NFS4ERR_INVAL);
  EXPECT_EQ(status(between("from", "to").add(OP_COPY, copy_args(11, 0, 0))), NFS4ERR_INVAL);
  EXPECT_EQ(status(between("from", "from").add(OP_COPY, copy_args(0, 2, 5))), NFS4ERR_INVAL);
  EXPECT_EQ(status(between("from", "from").add(OP_COPY, copy_args(0, 20, 5))), NFS4_OK);
  EXPECT_EQ(world_.read_local("from").size(), 25U);
}

// The exports are two file systems to the client; here they are directories of one.
TEST(CopyBetweenExports, copies) {
  World world({}, {ExportSpec{.path = "/a"}, ExportSpec{.path = "/b"}});
  std::ofstream(world.directory(0) + "/from") << "0123456789";
  std::ofstream(world.directory(1) + "/to");
  SessionClient client(world, 2, "client");
  Request request = client.request();
  request.add(OP_PUTROOTFH).add(OP_LOOKUP, LOOKUP4args{"a"}).add(OP_LOOKUP, LOOKUP4args{"from"});
  request.add(OP_SAVEFH).add(OP_PUTROOTFH).add(OP_LOOKUP, LOOKUP4args{"b"}).add(OP_LOOKUP, LOOKUP4args{"to"});
  COPY4args args;
  args.ca_src_stateid = args.ca_dst_stateid = anonymous();
  args.ca_src_offset = 2;
  args.ca_consecutive = args.ca_synchronous = true;
  EXPECT_EQ(client.send(request.add(OP_COPY, args)).status(), NFS4_OK);
  std::string copied;
  std::ifstream(world.directory(1) + "/to") >> copied;
  EXPECT_EQ(copied, "23456789");
}

TEST_F(Content, copy_between_servers_is_not_supported) {
  world_.write_local("from", "text");
  COPY4args args = copy_args(0, 0, 0);
  const std::array<netloc4, 1> source{netloc4::with_nl_name("elsewhere")};
  args.ca_source_server = source;
  EXPECT_EQ(status(between("from", "from").add(OP_COPY, args)), NFS4ERR_NOTSUPP);
  COPY_NOTIFY4args notify;
  notify.cna_destination_server = netloc4::with_nl_name("elsewhere");
  EXPECT_EQ(status(at({"from"}).add(OP_COPY_NOTIFY, notify)), NFS4ERR_NOTSUPP);
}

TEST_F(Content, offload_operations_know_no_other_copies) {
  world_.write_local("file", "");
  EXPECT_EQ(status(at({"file"}).add(OP_OFFLOAD_STATUS, OFFLOAD_STATUS4args{anonymous()})),
            NFS4ERR_BAD_STATEID);
  EXPECT_EQ(status(at({"file"}).add(OP_OFFLOAD_CANCEL, OFFLOAD_CANCEL4args{anonymous()})),
            NFS4ERR_BAD_STATEID);
}

TEST_F(Content, advice_is_answered_with_what_was_taken) {
  world_.write_local("file", "text");
  IO_ADVISE4args args{anonymous(), 0, 0, {}};
  const std::array<std::uint32_t, 2> hints{
      1U << static_cast<unsigned>(IO_ADVISE_type4::IO_ADVISE4_SEQUENTIAL) |
          1U << static_cast<unsigned>(IO_ADVISE_type4::IO_ADVISE4_INIT_PROXIMITY),
      ~0U};
  args.iaa_hints = hints;
  Reply reply = behind_at(at({"file"}).add(OP_IO_ADVISE, args));
  const auto result = reply.result<IO_ADVISE4res>(OP_IO_ADVISE);
  ASSERT_NE(result.resok4(), nullptr);
  ASSERT_EQ(result.resok4()->ior_hints.size(), 1U);
  EXPECT_EQ(result.resok4()->ior_hints[0],
            1U << static_cast<unsigned>(IO_ADVISE_type4::IO_ADVISE4_SEQUENTIAL));
}

TEST_F(Content, a_write_of_a_pattern_is_not_supported) {
  world_.write_local("file", "");
  EXPECT_EQ(status(at({"file"}).add(OP_WRITE_SAME, WRITE_SAME4args{})), NFS4ERR_NOTSUPP);
}

}  // namespace
}  // namespace braid::nfs4::test
