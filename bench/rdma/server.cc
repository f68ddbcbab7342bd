#include "bench/rdma/server.h"

#include <utility>

namespace braid::bench {

io::Op<> settle(io::Reactor& reactor) {
  // Two turns in a row in which nothing else was ready: what other threads post is taken between turns.
  for (int quiet = 0; quiet < 2;) {
    co_await reactor.yield();
    quiet = reactor.ready_queue().empty() ? quiet + 1 : 0;
  }
}

DataServer::DataServer(io::Reactor& reactor, rdma::sim::Fabric& fabric, rdma::Registration registration,
                       const rdma::RdmaOptions& options)
    : host_(fabric, "server") {
  service_.emplace(pool_);
  programs_ = {service_->program()};
  server_.emplace(
      rpc::ServerOptions{.connection_bytes_max = 256 * base::MiB, .bytes_max = 400 * base::MiB, .replay = {}},
      programs_, registry_, base::SipKey{1, 2});
  worker_.emplace(*server_, reactor, pool_);
  maps_.emplace(pool_, registration, metrics_.registration);
  turns_.emplace(reactor);
  rdma_.emplace(reactor, pool_, host_, *maps_, options, metrics_, *turns_);
  listener_ = host_.listen({.bytes = {}, .port = 20049}, *this).value();
}

DataServer::~DataServer() = default;

void DataServer::on_request(std::unique_ptr<rdma::ConnectRequest> request) {
  rdma_->adopt(std::move(request), *worker_, nullptr);
}

io::Op<> DataServer::close() {
  co_await rdma_->close();
  listener_.reset();
  rdma_.reset();
  turns_.reset();
  worker_.reset();
  maps_.reset();
}

}  // namespace braid::bench
