#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <vector>

#include "base/manual/manual_clock.h"
#include "bench/rdma/server.h"
#include "bench/rdma/tables.h"
#include "rdma/connector.h"
#include "rpc/client.h"

namespace braid::bench {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t link_bytes_per_second = 10'000'000'000 / 8;
constexpr std::array<base::Duration, 3> delays{0us, 10us, 1000us};
constexpr std::array<std::uint32_t, 3> credit_counts{16, 32, 128};

struct Shape {
  std::uint32_t record_bytes;
  std::uint32_t segment_bytes;
};
constexpr Shape shapes[] = {{4 * 1024, 4 * 1024},
                            {64 * 1024, 64 * 1024},
                            {512 * 1024, 4 * 1024},
                            {512 * 1024, 64 * 1024},
                            {1024 * 1024, 1024 * 1024}};

struct WanCase {
  DataProcedure procedure;
  Shape shape;
  std::uint32_t credits;
  base::Duration delay;
  std::size_t calls;
};

// Calls the server `credits` at a time, and notes when each call ended.
class Load {
 public:
  Load(const WanCase& one, rpc::Client& client, io::SlabPool& pool, const base::Clock& clock)
      : case_(one), client_(client), clock_(clock) {
    io::SlabRange data{pool.acquire(io::SlabSize::large).value(), 0, one.shape.record_bytes};
    data_.append(std::move(data));
    if (one.procedure == data_read) {
      options_.room.items[0] = one.shape.record_bytes;
      options_.room.item_count = 1;
    }
    options_.room.rest_bytes = 4;
  }
  void start(io::Gate& gate) {
    for (std::uint32_t i = 0; i < case_.credits; ++i) io::spawn(gate, run());
  }
  [[nodiscard]] bool done() const { return ended_.size() >= case_.calls || failed_; }
  [[nodiscard]] bool failed() const { return failed_; }
  // Of the middle half of the calls.
  [[nodiscard]] double bytes_per_second() const {
    const std::size_t first = case_.calls / 4;
    const std::size_t last = case_.calls * 3 / 4;
    const std::chrono::duration<double> time = ended_[last] - ended_[first];
    return static_cast<double>((last - first) * case_.shape.record_bytes) / time.count();
  }

 private:
  io::Op<> run() {
    const auto encode = [this](xdr::Encoder& out) {
      if (case_.procedure == data_read)
        out.u32(case_.shape.record_bytes);
      else
        out.ddp_payload(data_);
    };
    while (begun_++ < case_.calls) {
      auto results =
          co_await client_.call({data_program_number, 1, case_.procedure}, options_, encode).as_result();
      failed_ = failed_ || !results;
      if (!results) co_return;
      ended_.push_back(clock_.now());
    }
  }

  const WanCase case_;
  rpc::Client& client_;
  const base::Clock& clock_;
  io::Payload data_;
  rpc::CallOptions options_;
  std::size_t begun_ = 0;
  std::vector<base::TimePoint> ended_;
  bool failed_ = false;
};

io::Op<> measure(io::Reactor& reactor, base::ManualClock& clock, const WanCase& one, double& out) {
  rdma::sim::Fabric fabric({.delay = one.delay, .bytes_per_second = link_bytes_per_second}, clock);
  rdma::sim::Host client_host(fabric, "client");
  DataServer server(reactor, fabric, rdma::Registration::cache, {.credits = one.credits});
  server.host().leave_data(true);
  base::MetricRegistry registry;
  rdma::RegistrationMetrics metrics(registry);
  io::SlabPool pool({.bytes_max = 512 * base::MiB, .huge_pages = true});
  {
    rdma::MemoryMaps maps(pool, rdma::Registration::cache, metrics);
    rdma::RdmaConnector connector(reactor, pool, client_host, maps,
                                  {.credits = one.credits, .segment_bytes_max = one.shape.segment_bytes});
    rpc::Client client(reactor, pool, 1);
    auto connected = co_await connector.connect(server.address(), client).as_result();
    Load load(one, client, pool, clock);
    io::Gate gate;
    if (connected) load.start(gate);
    while (connected && !load.done()) {
      co_await settle(reactor);
      (void)fabric.advance();
    }
    out = connected && !load.failed() ? load.bytes_per_second() : 0;
    co_await client.close();
    co_await connector.close();
    co_await gate.drained();
  }
  co_await server.close();
  co_await settle(reactor);
}

double rate(const WanCase& one) {
  double out = 0;
  base::ManualClock clock;
  run_on_reactor(clock, [&](io::Reactor& reactor) { return measure(reactor, clock, one, out); });
  return out;
}

}  // namespace

bool print_wan_table(bool brief) {
  fmt::print(
      "Bandwidth over a link of 10 Gb/s, by its one-way delay; simulated device, virtual time, 16 RDMA "
      "Reads\n"
      "at once. Gb/s, and what is left of that without delay.\n\n"
      "{:<6} {:>10} {:>10} {:>8} {:>9} {:>9} {:>5} {:>9} {:>5}\n",
      "", "record", "segment", "credits", "0 us", "10 us", "", "1000 us", "");
  bool good = true;
  for (const DataProcedure procedure : {data_read, data_write}) {
    for (const Shape& shape : shapes) {
      for (const std::uint32_t credits : credit_counts) {
        if (brief && (credits != 128 || shape.record_bytes < 1024 * 1024)) continue;
        fmt::print("{:<6} {:>6} KiB {:>6} KiB {:>8}", procedure == data_read ? "READ" : "WRITE",
                   shape.record_bytes / 1024, shape.segment_bytes / 1024, credits);
        double near = 0;
        double kept = 0;
        for (const base::Duration delay : delays) {
          const std::size_t calls = std::size_t{8} * credits;
          const double bytes = rate({procedure, shape, credits, delay, calls});
          if (delay == 0us) near = bytes;
          kept = near > 0 ? bytes / near : 0;
          fmt::print(" {:>9.3f}", bytes * 8 / 1e9);
          if (delay > 0us) fmt::print(" {:>4.0f}%", kept * 100);
        }
        fmt::print("\n");
        std::fflush(stdout);
        if (credits == 128 && shape.segment_bytes == 1024 * 1024) good = good && kept >= 0.9;
      }
    }
  }
  return good;
}

}  // namespace braid::bench
