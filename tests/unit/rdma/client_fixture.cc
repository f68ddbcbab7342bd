#include "tests/unit/rdma/client_fixture.h"

namespace braid::rdma::test {

// A posted request with its memory; frees itself.
struct ScriptedServer::Posted final : Work {
  Posted(ScriptedServer& of, base::Bytes content, Opcode kind, bool is_receive)
      : server(of),
        bytes(std::move(content)),
        region(of.host_.register_memory(bytes, Access::local).value()),
        opcode(kind),
        receive(is_receive) {
    ++server.posted_;
  }
  void completed(WorkStatus status, std::uint32_t count) override {
    --server.posted_;
    if (receive && status == WorkStatus::success) {
      bytes.resize(count);
      server.calls.push_back(bytes);
      server.post_receive();
    }
    if (!receive) server.results.push_back(status);
    if (!receive && opcode == Opcode::read) server.read_last = bytes;
    delete this;
  }
  [[nodiscard]] LocalPiece piece() {
    return {bytes.data(), static_cast<std::uint32_t>(bytes.size()), region->local_key()};
  }
  ScriptedServer& server;
  base::Bytes bytes;
  std::unique_ptr<MemoryRegion> region;
  const Opcode opcode;
  const bool receive;
};

ScriptedServer::ScriptedServer(sim::Host& host, const rpc::PeerAddress& at,
                               std::optional<PrivateData> private_data)
    : host_(host), private_data_(private_data), listener_(host.listen(at, *this).value()) {}

ScriptedServer::~ScriptedServer() { EXPECT_EQ(posted_, 0U); }

void ScriptedServer::on_request(std::unique_ptr<ConnectRequest> request) {
  if (refuses) return;
  client = decode_private_data(request->offered().private_data);
  reads_in = request->offered().reads_in;
  endpoint_ = host_.open(std::move(request), {64, 1024}, *this).value();
  for (int i = 0; i < 64; ++i) post_receive();
  base::Bytes data;
  if (private_data_) {
    const auto encoded = encode(*private_data_);
    data.assign(encoded.begin(), encoded.end());
  }
  EXPECT_TRUE(endpoint_->start({.private_data = data, .reads_out = reads_in, .reads_in = 0}));
}

void ScriptedServer::post_receive() {
  auto* posted = new Posted(*this, base::Bytes(4096), Opcode::send, true);
  EXPECT_TRUE(endpoint_->post_receive(*posted, posted->piece()));
}

void ScriptedServer::post(Opcode opcode, base::Bytes content, const Segment& remote) {
  auto* posted = new Posted(*this, std::move(content), opcode, false);
  const LocalPiece piece = posted->piece();
  const Request request{opcode, {&piece, 1}, remote.key, remote.address};
  EXPECT_TRUE(endpoint_->post(*posted, {&request, 1}));
}

void ScriptedServer::send(base::Bytes message, std::optional<RemoteKey> invalidated) {
  if (invalidated)
    post(Opcode::send_invalidate, std::move(message), {*invalidated, 0, 0});
  else
    post(Opcode::send, std::move(message), {});
}

void ScriptedServer::write(const Segment& to, base::Bytes content) {
  post(Opcode::write, std::move(content), to);
}

void ScriptedServer::read(const Segment& from) { post(Opcode::read, base::Bytes(from.bytes), from); }

}  // namespace braid::rdma::test
