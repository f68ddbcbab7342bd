#include "tests/unit/rdma/world.h"

namespace braid::rdma::test {

Offer::Offer(sim::Host& host, base::Bytes content, Access access)
    : content_(std::move(content)), region_(host.register_memory(content_, access).value()) {}

Segment Offer::segment() const { return segment(0, content_.size()); }

Segment Offer::segment(std::size_t offset, std::size_t bytes) const {
  return {region_->remote_key(), static_cast<std::uint32_t>(bytes),
          reinterpret_cast<std::uintptr_t>(content_.data()) + offset};
}

// A posted request with its memory; frees itself.
struct SimClient::Posted final : Work {
  Posted(SimClient& of, base::Bytes content, bool is_receive)
      : client(of),
        bytes(std::move(content)),
        region(of.host_.register_memory(bytes, Access::local).value()),
        receive(is_receive) {
    ++client.posted_;
  }
  void completed(WorkStatus status, std::uint32_t count) override {
    --client.posted_;
    if (receive && status == WorkStatus::success) {
      bytes.resize(count);
      client.messages.push_back(bytes);
      if (client.receives_again) client.post_receive();
    }
    if (!receive) client.send_results.push_back(status);
    delete this;
  }
  [[nodiscard]] LocalPiece piece() {
    return {bytes.data(), static_cast<std::uint32_t>(bytes.size()), region->local_key()};
  }
  SimClient& client;
  base::Bytes bytes;
  std::unique_ptr<MemoryRegion> region;
  const bool receive;
};

SimClient::SimClient(sim::Host& host, const rpc::PeerAddress& to, const ClientOptions& options)
    : host_(host), options_(options), endpoint_(host.connect(to, {options.receives, 1024}, *this).value()) {}

SimClient::~SimClient() { EXPECT_TRUE(drained()); }

void SimClient::on_resolved() {
  for (std::uint32_t i = 0; i < options_.receives; ++i) post_receive();
  base::Bytes data;
  if (options_.private_data) {
    const auto encoded = encode(*options_.private_data);
    data.assign(encoded.begin(), encoded.end());
  }
  EXPECT_TRUE(endpoint_->start({.private_data = data, .reads_out = 0, .reads_in = options_.reads_in}));
}

void SimClient::on_established(const ConnectParameters& peer) {
  established = true;
  server = decode_private_data(peer.private_data);
}

void SimClient::post_receive() {
  auto* posted = new Posted(*this, base::Bytes(options_.receive_bytes), true);
  EXPECT_TRUE(endpoint_->post_receive(*posted, posted->piece()));
}

void SimClient::send(base::Bytes message) {
  auto* posted = new Posted(*this, std::move(message), false);
  const LocalPiece piece = posted->piece();
  const Request request{Opcode::send, {&piece, 1}, {}, 0};
  EXPECT_TRUE(endpoint_->post(*posted, {&request, 1}));
}

World::World(std::span<const rpc::Program> programs, const WorldOptions& options)
    : pool(options.pool),
      host(fabric, "server", options.device),
      client_host(fabric, "client"),
      server(options.server, programs, registry, base::SipKey{1, 2}),
      options_(options) {}

World::~World() = default;

void World::begin() {
  maps.emplace(pool, options_.registration, metrics.registration);
  worker.emplace(server, loop.reactor(), pool);
  rdma.emplace(loop.reactor(), pool, host, *maps, options_.rdma, metrics, turns);
  limit.emplace(
      options_.connections_max, std::vector<rpc::TcpWorker*>{},
      [this] { return rdma->connections() + other_connections; }, clock, registry);
  admission_.emplace(std::vector{Admission::Target{&*rdma, &*worker}}, *limit, metrics);
  listener_ = host.listen({.bytes = {}, .port = 20049}, *admission_).value();
  address = listener_->address();
}

io::Op<SimClient*> World::connect(ClientOptions options) {
  SimClient* client = clients.emplace_back(std::make_unique<SimClient>(client_host, address, options)).get();
  co_await settle();
  co_return client;
}

io::Op<> World::settle() {
  for (int i = 0; i < 3000; ++i) co_await loop.reactor().yield();
}

io::Op<> World::flush_limit_passes() {
  clock.advance(options_.rdma.flush_limit + std::chrono::seconds(1));
  rdma->check_limits();
  co_await settle();
}

io::Op<> World::finish() {
  host.hold_completions(false);
  co_await rdma->close();
  co_await settle();
  for (const auto& client : clients) client->disconnect();
  co_await settle();
  clients.clear();
  listener_.reset();
  EXPECT_EQ(worker->sessions(), 0U);
  EXPECT_EQ(rdma->connections(), 0U);
  rdma.reset();
  worker.reset();
  maps.reset();
}

void World::expect_nothing_left() {
  EXPECT_EQ(server.budget().used(), 0U);
  EXPECT_EQ(host.stats().regions, 0U);
  EXPECT_EQ(host.endpoints(), 0U);
  EXPECT_EQ(client_host.endpoints(), 0U);
  EXPECT_EQ(pool.stats().bytes_used, 0U);
}

}  // namespace braid::rdma::test
