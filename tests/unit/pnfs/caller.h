// Where tests call from.
#pragma once

#include <optional>

#include "base/clock.h"
#include "base/metrics.h"
#include "io/slab.h"
#include "rpc/tcp_worker.h"
#include "tests/unit/rpc/loop.h"

namespace braid::pnfs::test {

// A thread, and its connections.
class Caller {
 public:
  Caller() : metrics_(registry_) {
    thread.call([this] { tcp.emplace(thread.reactor(), pool, nullptr, options(), metrics_); });
  }
  ~Caller() {
    thread.await([this]() -> io::Op<> {
      co_await tcp->close();
      tcp.reset();
    });
  }
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  base::SystemClock clock;
  io::SlabPool pool{{.bytes_max = 64 * base::MiB, .huge_pages = false}};
  std::optional<rpc::TcpWorker> tcp;

 private:
  static rpc::TcpOptions options() {
    rpc::TcpOptions out;
    out.record_bytes_max = 8 * base::MiB;
    out.drain_linger = {};
    return out;
  }
  base::MetricRegistry registry_;
  rpc::TcpMetrics metrics_;

 public:
  rpc::test::ReactorThread thread{clock};
};

}  // namespace braid::pnfs::test
