// NFSv3 over RDMA as RFC 8267 section 3 binds it: the same procedures as over TCP, their data placed
// directly.
#include <gtest/gtest.h>

#include <algorithm>
#include <span>

#include "nfs3/nfs3.x.h"
#include "nfs3/service.h"
#include "tests/unit/rdma/world.h"
#include "vfs/export.h"
#include "vfs/memory/file_system.h"
#include "vfs/memory/recorder.h"

namespace braid::rdma {
namespace {

using base::Bytes;
using nfs3::NFS_V3_procedure;
using test::append;
using test::Offer;
using test::SimClient;
using test::Wire;
using test::words;

constexpr std::uint32_t credits_max = 128;

class Nfs3OverRdmaTest : public testing::Test {
 protected:
  Nfs3OverRdmaTest() {
    vfs::Export one;
    one.id = vfs::ExportId{7};
    one.path = "/";
    one.file_system = fs_;
    exports_.replace(std::make_shared<const vfs::ExportTable>(std::vector<vfs::Export>{one}));
    programs_.push_back(service_.program());
    world_.emplace(programs_);
  }

  static Bytes pattern(std::size_t size) {
    Bytes out(size);
    for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<std::byte>(i * 7 + i / 100);
    return out;
  }
  static std::string_view text(const Bytes& bytes) { return base::text_of(bytes); }

  template <class Args>
  Bytes call(std::uint32_t xid, NFS_V3_procedure procedure, const Args& args) {
    Bytes out = rpc::test::call_of(xid, nfs3::NFS_PROGRAM, 3, static_cast<std::uint32_t>(procedure));
    xdr::Encoder encoder(cursor_);
    encode(encoder, args);
    append(out, rpc::test::bytes_of(encoder.finish().bytes));
    return out;
  }
  // The handle lives as long as the test.
  nfs3::nfs_fh3 handle(std::uint64_t id) {
    handles_.push_back(std::make_unique<vfs::FileHandle>(storage_.handle_of(id)));
    return {handles_.back()->view()};
  }
  // The results behind the RPC header, which stands `skip` bytes into the message.
  template <class Res>
  Res results(const Bytes& message, std::size_t skip) {
    constexpr std::size_t rpc_header = 24;
    EXPECT_GE(message.size(), skip + rpc_header);
    results_ = test::payload_of(world_->pool, message);
    arena_ = std::make_unique<xdr::Arena>();
    xdr::Decoder in(results_, *arena_, skip + rpc_header);
    Res res;
    EXPECT_TRUE(decode(in, res));
    results_.clear();
    return res;
  }

  io::SlabPool pool_{{.bytes_max = 4 * io::region_bytes, .huge_pages = false}};
  io::SlabCursor cursor_{pool_};
  vfs::memory::Storage storage_{vfs::ExportId{7}};
  vfs::memory::Recorder recorder_;
  std::shared_ptr<vfs::memory::MemoryFileSystem> fs_ =
      std::make_shared<vfs::memory::MemoryFileSystem>(storage_, recorder_);
  vfs::Exports exports_{std::make_shared<const vfs::ExportTable>(std::vector<vfs::Export>{})};
  nfs3::Nfs3Service service_{exports_, {}};
  std::vector<rpc::Program> programs_;
  std::optional<test::World> world_;
  std::vector<std::unique_ptr<vfs::FileHandle>> handles_;
  io::Payload results_;
  std::unique_ptr<xdr::Arena> arena_;
};

TEST_F(Nfs3OverRdmaTest, read_places_the_data) {
  const Bytes content = pattern(262'143);
  const std::uint64_t file = storage_.add(1, "f", vfs::FileType::regular, text(content));
  world_->run([&]() -> io::Op<> {
    SimClient& client = *co_await world_->connect();
    const Offer sink = client.writable(262'144);
    const Segment half = sink.segment(0, 131'072);
    const Segment rest = sink.segment(131'072, 131'072);
    const nfs3::READ3args args{handle(file), 0, 262'144};
    Wire wire(1, 32, 0);
    wire.write({half, rest});
    client.send(wire.with(call(1, NFS_V3_procedure::NFSPROC3_READ, args)));
    co_await world_->settle();
    const std::vector<Bytes>& got = client.messages;
    EXPECT_EQ(got.size(), 1U);
    EXPECT_EQ(sink.first(content.size()), content);
    // Two segments returned, the second one byte short; the data's length is there, the data is not.
    EXPECT_EQ(rpc::test::u32_at(got[0], 48), 131'071U);
    EXPECT_EQ(rpc::test::u32_at(got[0], got[0].size() - 4), 262'143U);
    EXPECT_LT(got[0].size(), 300U);
  });
}

TEST_F(Nfs3OverRdmaTest, write_takes_its_data_from_a_read_chunk) {
  const Bytes content = pattern(100'001);
  const std::uint64_t file = storage_.add(1, "f", vfs::FileType::regular);
  world_->run([&]() -> io::Op<> {
    SimClient& client = *co_await world_->connect();
    const Offer source = client.readable(content);
    const nfs3::WRITE3args args{handle(file), 0, 100'001, nfs3::stable_how::FILE_SYNC, {}};
    Bytes message = call(1, NFS_V3_procedure::NFSPROC3_WRITE, args);
    message.resize(message.size() - 4);
    append(message, words({100'001}));
    Wire wire(1, 32, 0);
    wire.read(static_cast<std::uint32_t>(message.size()), source.segment());
    client.send(wire.with(message));
    co_await world_->settle();
    EXPECT_EQ(client.messages.size(), 1U);
    const auto res = results<nfs3::WRITE3res>(client.messages[0], plain_header_bytes);
    EXPECT_EQ(res.status, nfs3::nfsstat3::NFS3_OK);
    EXPECT_EQ(res.resok()->count, 100'001U);
  });
  EXPECT_EQ(storage_.node(file).content, text(content));
}

TEST_F(Nfs3OverRdmaTest, readlink_places_the_path_if_there_is_a_chunk_for_it) {
  const std::uint64_t link = storage_.add(1, "l", vfs::FileType::symlink, "where/it/points");
  world_->run([&]() -> io::Op<> {
    SimClient& client = *co_await world_->connect();
    const Offer sink = client.writable(1024);
    const nfs3::READLINK3args args{handle(link)};
    Wire wire(1, 32, 0);
    wire.write({sink.segment()});
    client.send(wire.with(call(1, NFS_V3_procedure::NFSPROC3_READLINK, args)));
    client.send(Wire(2, 32, 0).with(call(2, NFS_V3_procedure::NFSPROC3_READLINK, args)));
    co_await world_->settle();
    EXPECT_EQ(text(sink.first(15)), "where/it/points");
    EXPECT_EQ(client.messages.size(), 2U);
    EXPECT_EQ(results<nfs3::READLINK3res>(client.messages[1], plain_header_bytes).resok()->data,
              "where/it/points");
  });
}

TEST_F(Nfs3OverRdmaTest, a_long_directory_comes_through_the_reply_chunk) {
  for (int i = 0; i < 400; ++i)
    storage_.add(1, "a_rather_long_name_" + std::to_string(i), vfs::FileType::regular);
  world_->run([&]() -> io::Op<> {
    SimClient& client = *co_await world_->connect();
    const Offer sink = client.writable(65'536);
    const nfs3::READDIR3args args{handle(1), 0, {}, 60'000};
    Wire wire(1, 32, 0);
    wire.reply({sink.segment()});
    client.send(wire.with(call(1, NFS_V3_procedure::NFSPROC3_READDIR, args)));
    co_await world_->settle();
    EXPECT_EQ(client.messages.size(), 1U);
    EXPECT_EQ(rpc::test::u32_at(client.messages[0], 12), static_cast<std::uint32_t>(rdma_proc::RDMA_NOMSG));
    const std::uint32_t length = rpc::test::u32_at(client.messages[0], 36);
    const auto res = results<nfs3::READDIR3res>(sink.first(length), 0);
    EXPECT_EQ(res.status, nfs3::nfsstat3::NFS3_OK);
    EXPECT_EQ(res.resok()->reply.entries.size(), 402U);
  });
}

TEST_F(Nfs3OverRdmaTest, a_read_that_fails_returns_the_chunk_empty) {
  const std::uint64_t file = storage_.add(1, "f", vfs::FileType::regular, "content");
  recorder_.fail("read", vfs::Error::io);
  world_->run([&]() -> io::Op<> {
    SimClient& client = *co_await world_->connect();
    const Offer sink = client.writable(4096);
    const nfs3::READ3args args{handle(file), 0, 4096};
    Wire wire(1, 32, 0);
    wire.write({sink.segment()});
    client.send(wire.with(call(1, NFS_V3_procedure::NFSPROC3_READ, args)));
    co_await world_->settle();
    EXPECT_EQ(client.messages.size(), 1U);
    Wire expected(1, credits_max, 0);
    expected.write({sink.segment(0, 0)});
    const Bytes header = expected.with();
    EXPECT_EQ(Bytes(client.messages[0].begin(),
                    client.messages[0].begin() + static_cast<std::ptrdiff_t>(header.size())),
              header);
    EXPECT_EQ(sink.content(), Bytes(4096));
  });
}

// The client does not know whether its call was executed. It asks again on a new connection, with the same
// xid and memory that is offered anew.
TEST_F(Nfs3OverRdmaTest, a_call_repeated_on_a_new_connection_is_not_executed_twice) {
  const nfs3::CREATE3args args{{handle(1), "new"},
                               nfs3::createhow3::with_obj_attributes(nfs3::createmode3::GUARDED, {})};
  world_->run([&]() -> io::Op<> {
    SimClient& lost = *co_await world_->connect();
    const Offer first = lost.writable(8192);
    world_->host.inject({Opcode::send_invalidate, 0, sim::Fault::Kind::disconnect, {}});
    lost.send(Wire(1, 32, 0).reply({first.segment()}).with(call(1, NFS_V3_procedure::NFSPROC3_CREATE, args)));
    co_await world_->settle();
    EXPECT_TRUE(lost.disconnected && lost.messages.empty());
    EXPECT_TRUE(storage_.find(1, "new").has_value());
    SimClient& client = *co_await world_->connect();
    const Offer second = client.writable(8192);
    client.send(
        Wire(1, 32, 0).reply({second.segment()}).with(call(1, NFS_V3_procedure::NFSPROC3_CREATE, args)));
    co_await world_->settle();
    EXPECT_EQ(client.messages.size(), 1U);
    const Bytes header = Wire(1, credits_max, 0).reply({second.segment(0, 0)}).with();
    EXPECT_TRUE(std::ranges::equal(header, std::span(client.messages[0]).first(header.size())));
    EXPECT_EQ(results<nfs3::CREATE3res>(client.messages[0], header.size()).status, nfs3::nfsstat3::NFS3_OK);
  });
  EXPECT_EQ(std::ranges::count(recorder_.calls, "create", &vfs::memory::Recorded::operation), 1);
}

}  // namespace
}  // namespace braid::rdma
