// NFSv4 over RDMA as RFC 8267 section 4 binds it: a whole server's engine behind the simulated device.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "tests/unit/nfs4/support/world.h"
#include "tests/unit/rdma/world.h"

namespace braid::rdma {
namespace {

using base::Bytes;
using nfs4::test::Request;
using test::bytes_of;
using test::Offer;
using test::SimClient;
using test::Wire;
using enum nfs4::nfs_opnum4;

constexpr std::uint32_t credits_max = 128;

// The results of a COMPOUND, one after the other.
class Results {
 public:
  // They stand `skip` bytes into the message, behind the RPC header, without the items that came apart.
  Results(io::SlabPool& pool, const Bytes& message, std::size_t skip, const std::vector<Bytes>& apart = {})
      : message_(test::payload_of(pool, message)), in_(message_, arena_, skip + rpc_header) {
    for (const Bytes& item : apart) apart_.push_back(test::payload_of(pool, item));
    in_.set_apart(apart_);
    nfs4::COMPOUND4res head;
    EXPECT_TRUE(decode(in_, head));
    EXPECT_EQ(head.status, nfs4::nfsstat4::NFS4_OK);
  }
  template <class Res>
  Res next(nfs4::nfs_opnum4 number) {
    Res res;
    std::uint32_t got = 0;
    EXPECT_TRUE(in_.u32(got));
    EXPECT_EQ(got, static_cast<std::uint32_t>(number));
    EXPECT_TRUE(decode(in_, res)) << "the result of operation " << got;
    return res;
  }
  // Behind PUTROOTFH and LOOKUP.
  Results& at_file() {
    EXPECT_EQ(next<nfs4::nfsstat4>(OP_PUTROOTFH), nfs4::nfsstat4::NFS4_OK);
    EXPECT_EQ(next<nfs4::nfsstat4>(OP_LOOKUP), nfs4::nfsstat4::NFS4_OK);
    return *this;
  }
  [[nodiscard]] bool at_end() const { return in_.remaining() == 0; }

 private:
  static constexpr std::size_t rpc_header = 24;
  io::Payload message_;
  std::vector<io::Payload> apart_;
  xdr::Arena arena_;
  xdr::Decoder in_;
};

class Nfs4OverRdmaTest : public testing::Test {
 protected:
  static std::string pattern(std::size_t size) {
    std::string out(size, '\0');
    for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<char>(i * 7 + i / 100);
    return out;
  }
  static Request& at(Request& request, std::string_view name) {
    return request.add(OP_PUTROOTFH).add(OP_LOOKUP, nfs4::LOOKUP4args{name});
  }
  static Request read_plus(nfs4::test::SessionClient& session, std::string_view name, std::uint32_t count) {
    Request request = session.request();
    at(request, name).add(OP_READ_PLUS, nfs4::READ_PLUS4args{nfs4::test::anonymous(), 0, count});
    return request;
  }
  static nfs4::READ4args range(std::uint64_t offset, std::uint32_t count) {
    return {nfs4::test::anonymous(), offset, count};
  }
  static Bytes call(std::uint32_t xid, const Request& request) {
    return rpc::test::call_of(xid, nfs4::NFS4_PROGRAM, nfs4::NFS_V4, 1, bytes_of(request.encoded()));
  }
  // A reply begins with it.
  static void expect_header(const Bytes& reply, const Bytes& header) {
    ASSERT_GE(reply.size(), header.size());
    EXPECT_EQ(Bytes(reply.begin(), reply.begin() + static_cast<std::ptrdiff_t>(header.size())), header);
  }
  static Bytes part(const std::string& content, std::size_t offset, std::size_t bytes) {
    const auto view = base::bytes_of(std::string_view(content).substr(offset, bytes));
    return {view.begin(), view.end()};
  }
  // Files are read by threads of their own.
  io::Op<Bytes> answer_to(SimClient& client) {
    const std::size_t before = client.messages.size();
    while (client.messages.size() == before && !client.disconnected) co_await world_.loop.reactor().yield();
    co_return client.messages.size() == before ? Bytes() : client.messages.back();
  }
  // A hole of 64 KiB, and data behind it.
  void write_behind_hole(std::string_view name, const std::string& data) const {
    nfs_.write_local(name, "");
    const std::string path = nfs_.directory() + "/" + std::string(name);
    std::filesystem::resize_file(path, hole_bytes);
    std::ofstream(path, std::ios::app) << data;
  }
  static void expect_hole_and_data(Results& results, std::size_t data_bytes) {
    const auto sequence = results.next<nfs4::SEQUENCE4res>(OP_SEQUENCE);
    EXPECT_EQ(sequence.sr_status, nfs4::nfsstat4::NFS4_OK);
    const auto result = results.at_file().next<nfs4::READ_PLUS4res>(OP_READ_PLUS);
    ASSERT_NE(result.rp_resok4(), nullptr);
    EXPECT_TRUE(result.rp_resok4()->rpr_eof);
    const auto& pieces = result.rp_resok4()->rpr_contents;
    ASSERT_EQ(pieces.size(), 2U);
    ASSERT_NE(pieces[0].rpc_hole(), nullptr);
    EXPECT_EQ(pieces[0].rpc_hole()->di_length, hole_bytes);
    ASSERT_NE(pieces[1].rpc_data(), nullptr);
    EXPECT_TRUE(std::ranges::equal(pieces[1].rpc_data()->d_data, part(pattern(data_bytes), 0, data_bytes)));
    EXPECT_TRUE(results.at_end());
  }

  static constexpr std::size_t hole_bytes = 64 * base::KiB;
  nfs4::test::World nfs_;
  std::vector<rpc::Program> programs_{nfs_.engine().program()};
  test::World world_{programs_};
};

TEST_F(Nfs4OverRdmaTest, the_write_chunks_of_a_compound_are_used_in_the_order_of_its_reads) {
  const std::string content = pattern(9001);
  nfs_.write_local("file", content);
  world_.run([&]() -> io::Op<> {
    SimClient& client = *co_await world_.connect();
    const Offer first = client.writable(6000);
    const Offer second = client.writable(4096);
    const Offer third = client.writable(100);
    Request request(0);
    at(request, "file").add(OP_READ, range(0, 5000)).add(OP_READ, range(8000, 4096));
    Wire wire(1, 32, 0);
    wire.write({first.segment(0, 4000), first.segment(4000, 2000)})
        .write({second.segment()})
        .write({third.segment()});
    client.send(wire.with(call(1, request)));
    const Bytes answer = co_await answer_to(client);
    const Bytes header = Wire(1, credits_max, 0)
                             .write({first.segment(0, 4000), first.segment(4000, 1000)})
                             .write({second.segment(0, 1001)})
                             .write({third.segment(0, 0)})
                             .with();
    expect_header(answer, header);
    EXPECT_EQ(first.content(), [&] {
      Bytes expected = part(content, 0, 5000);
      expected.resize(6000);
      return expected;
    }());
    EXPECT_EQ(second.first(1001), part(content, 8000, 1001));
    EXPECT_EQ(third.content(), Bytes(100));
    Results results(world_.pool, answer, header.size(), {first.first(5000), second.first(1001)});
    results.at_file();
    const auto read = results.next<nfs4::READ4res>(OP_READ);
    const auto last = results.next<nfs4::READ4res>(OP_READ);
    EXPECT_TRUE(read.resok4() != nullptr && !read.resok4()->eof && read.resok4()->data.size() == 5000);
    EXPECT_TRUE(last.resok4() != nullptr && last.resok4()->eof && last.resok4()->data.size() == 1001);
    EXPECT_TRUE(results.at_end());
  });
}

TEST_F(Nfs4OverRdmaTest, as_many_reads_as_a_call_may_have_write_chunks_are_placed) {
  const std::string content = pattern(WRITE_CHUNKS_MAX * 100);
  nfs_.write_local("file", content);
  world_.run([&]() -> io::Op<> {
    SimClient& client = *co_await world_.connect();
    const Offer sink = client.writable(content.size());
    Request request(0);
    at(request, "file");
    Wire wire(1, 32, 0);
    Wire returned(1, credits_max, 0);
    for (std::uint32_t i = 0; i < WRITE_CHUNKS_MAX; ++i) {
      request.add(OP_READ, range(std::uint64_t{i} * 100, 100));
      wire.write({sink.segment(i * 100, 100)});
      returned.write({sink.segment(i * 100, 100)});
    }
    client.send(wire.with(call(1, request)));
    expect_header(co_await answer_to(client), returned.with());
    EXPECT_EQ(sink.content(), part(content, 0, content.size()));
  });
}

TEST_F(Nfs4OverRdmaTest, read_plus_has_its_data_inline_and_returns_a_write_chunk_empty) {
  write_behind_hole("file", pattern(1000));
  nfs4::test::SessionClient session(nfs_, 2, "client");
  world_.run([&]() -> io::Op<> {
    SimClient& client = *co_await world_.connect();
    const Offer sink = client.writable(100'000);
    const Request request = read_plus(session, "file", 100'000);
    client.send(Wire(1, 32, 0).write({sink.segment()}).with(call(1, request)));
    const Bytes answer = co_await answer_to(client);
    const Bytes header = Wire(1, credits_max, 0).write({sink.segment(0, 0)}).with();
    expect_header(answer, header);
    Results results(world_.pool, answer, header.size());
    expect_hole_and_data(results, 1000);
    EXPECT_EQ(sink.content(), Bytes(100'000));
  });
}

TEST_F(Nfs4OverRdmaTest, read_plus_has_longer_data_in_the_reply_chunk) {
  write_behind_hole("file", pattern(20'000));
  nfs4::test::SessionClient session(nfs_, 2, "client");
  world_.run([&]() -> io::Op<> {
    SimClient& client = *co_await world_.connect();
    const Offer sink = client.writable(100'000);
    const Request request = read_plus(session, "file", 100'000);
    client.send(Wire(1, 32, 0).reply({sink.segment()}).with(call(1, request)));
    const Bytes answer = co_await answer_to(client);
    const std::uint32_t length = answer.size() == 48 ? rpc::test::u32_at(answer, 36) : 0;
    EXPECT_EQ(answer, Wire(1, credits_max, 1).reply({sink.segment(0, length)}).with());
    EXPECT_GT(length, 20'000U);
    Results results(world_.pool, sink.first(length), 0);
    expect_hole_and_data(results, 20'000);
  });
}

}  // namespace
}  // namespace braid::rdma
