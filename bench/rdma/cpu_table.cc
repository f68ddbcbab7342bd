#include <fmt/format.h>
#include <liburing.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "bench/rdma/copy_count.h"
#include "bench/rdma/load_client.h"
#include "bench/rdma/server.h"
#include "bench/rdma/tables.h"

namespace braid::bench {
namespace {

using rdma::Registration;

constexpr std::size_t page_bytes = 4096;
constexpr std::array<std::size_t, 4> thread_counts{1, 2, 4, 8};

// CPU time of this thread: others on the core do not count.
double thread_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

double wall_ns() {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

double least_clock_ns() {
  double least = std::numeric_limits<double>::max();
  for (int i = 0; i < 10'000; ++i) {
    const double before = wall_ns();
    least = std::min(least, wall_ns() - before);
  }
  return least;
}

void burn(double ns) {
  const double until = thread_ns() + ns;
  while (thread_ns() < until) {
  }
}

// CPU time of the thread without what it spends on others than the server, and without the clock. The clock
// of CPU time is a system call, so single absences are timed by the wall's; one that is longer than any
// device or client needs is one in which the thread had lost its core, and counts as long as the others.
class ServerMeter final : public rdma::sim::Meter {
 public:
  void leave() override {
    count_copies(false);
    left_ = wall_ns();
  }
  void enter() override {
    const double away = wall_ns() - left_;
    ++absences_;
    if (away < interrupted_ns) {
      away_ns_ += away;
      ++timed_;
    }
    count_copies(true);
  }
  void start() {
    away_ns_ = 0;
    absences_ = timed_ = 0;
    count_copies(true);
    started_ = thread_ns();
  }
  // Since start().
  [[nodiscard]] double ns() const {
    const double all = thread_ns() - started_;
    const double mean = away_ns_ / static_cast<double>(std::max<std::uint64_t>(timed_, 1));
    return all - static_cast<double>(absences_) * (mean + clock_ns_);
  }

 private:
  static constexpr double interrupted_ns = 20'000;
  const double clock_ns_ = least_clock_ns();
  double started_ = 0;
  double left_ = 0;
  double away_ns_ = 0;  // of the absences that were timed
  std::uint64_t absences_ = 0;
  std::uint64_t timed_ = 0;
};

// What the kernel of this machine needs to pin and release so many bytes: the part of a registration that
// every device has to pay.
double pin_ns(std::size_t bytes) {
  io_uring ring{};
  if (::io_uring_queue_init(4, &ring, 0) != 0) return 0;
  base::Bytes memory(bytes + page_bytes, std::byte{1});
  const iovec vector{memory.data(), bytes};
  double least = std::numeric_limits<double>::max();
  for (int i = 0; i < 200; ++i) {
    const double before = thread_ns();
    if (::io_uring_register_buffers(&ring, &vector, 1) != 0) break;
    ::io_uring_unregister_buffers(&ring);
    least = std::min(least, thread_ns() - before);
  }
  ::io_uring_queue_exit(&ring);
  return least;
}

struct Case {
  DataProcedure procedure;
  std::uint32_t bytes;
  Registration registration;
  double registration_ns = 0;  // of the data of a call
};

struct Measured {
  double ns_per_call = 0;
  std::uint64_t copied = 0;       // bytes per call
  std::uint64_t bulk_copied = 0;  // in copies as long as payloads
  bool broken = false;
};

io::Op<> until(io::Reactor& reactor, const LoadClient& client, std::uint64_t answers) {
  while (client.answered() < answers && !client.broken()) co_await reactor.yield();
}

io::Op<> measure(io::Reactor& reactor, const Case& one, std::size_t calls, Measured& out) {
  rdma::sim::Fabric fabric;
  rdma::sim::Host client_host(fabric, "client");
  DataServer server(reactor, fabric, one.registration, {});
  server.host().leave_data(true);
  auto client = std::make_unique<LoadClient>(client_host, server.address(),
                                             LoadOptions{.procedure = one.procedure, .bytes = one.bytes});
  co_await until(reactor, *client, calls);
  if (one.registration_ns > 0)
    server.host().on_registration([ns = one.registration_ns](std::size_t) { burn(ns); });
  ServerMeter meter;
  fabric.measure(&server.host(), &meter);
  copies() = {};
  std::array<double, 9> runs{};
  for (double& run : runs) {
    const std::uint64_t before = client->answered();
    meter.start();
    co_await until(reactor, *client, before + calls);
    run = meter.ns() / static_cast<double>(client->answered() - before);
  }
  fabric.measure(nullptr, nullptr);
  count_copies(false);
  std::ranges::sort(runs);
  out.ns_per_call = runs[runs.size() / 2];
  out.copied = copies().bytes / (runs.size() * calls);
  out.bulk_copied = copies().bulk_bytes;
  out.broken = client->broken();
  server.host().on_registration({});
  client->stop();
  while (!client->drained()) co_await reactor.yield();
  client.reset();
  co_await server.close();
  co_await settle(reactor);
}

// The mean over threads that have nothing in common, of each one's median run.
Measured measure_threads(const Case& one, std::size_t threads, std::size_t calls) {
  std::vector<Measured> all(threads);
  {
    std::vector<std::jthread> running;
    running.reserve(threads);
    for (Measured& mine : all)
      running.emplace_back([&] {
        const base::SystemClock clock;
        run_on_reactor(clock, [&](io::Reactor& reactor) { return measure(reactor, one, calls, mine); });
      });
  }
  Measured mean;
  for (const Measured& mine : all) {
    mean.ns_per_call += mine.ns_per_call / static_cast<double>(threads);
    mean.copied = std::max(mean.copied, mine.copied);
    mean.bulk_copied += mine.bulk_copied;
    mean.broken = mean.broken || mine.broken;
  }
  return mean;
}

// The count of copies counts what it should: otherwise its zeros mean nothing.
bool counts_copies() {
  io::SlabPool pool({.bytes_max = io::region_bytes, .huge_pages = false});
  const io::Payload payload(io::SlabRange{pool.acquire(io::SlabSize::small).value(), 0, page_bytes});
  base::Bytes to(page_bytes);
  copies() = {};
  count_copies(true);
  payload.in_memory().value().copy_to(0, to);
  std::copy(to.begin(), to.end() - 1, payload.ranges().front().writable().begin());
  count_copies(false);
  return copies().bulk_bytes == 2 * page_bytes - 1;
}

struct Strategy {
  std::string name;
  Registration registration;
  double ns;
};

bool print_rows(DataProcedure procedure, std::uint32_t bytes, const CpuTableOptions& options) {
  const double pinning_ns = pin_ns(bytes);
  const double paper_ns = static_cast<double>(bytes) / page_bytes * options.page_ns;
  const std::array<Strategy, 4> strategies{
      Strategy{"cache", Registration::cache, 0}, Strategy{"odp", Registration::odp, 0},
      Strategy{fmt::format("dynamic, {:.1f} us", paper_ns / 1000), Registration::dynamic, paper_ns},
      Strategy{fmt::format("dynamic, {:.1f} us (pinning here)", pinning_ns / 1000), Registration::dynamic,
               pinning_ns}};
  bool good = true;
  double cached = 0;
  for (const Strategy& strategy : strategies) {
    fmt::print("{:<6} {:>5} KiB  {:<34}", procedure == data_read ? "READ" : "WRITE", bytes / 1024,
               strategy.name);
    Measured last;
    const std::size_t calls = options.brief ? 10 : strategy.ns > 100'000 ? 100 : 2000;
    for (const std::size_t threads : thread_counts) {
      last = measure_threads({procedure, bytes, strategy.registration, strategy.ns}, threads, calls);
      if (threads == 1 && cached == 0) cached = last.ns_per_call;
      fmt::print(" {:>9.2f}", last.ns_per_call / 1000);
      if (threads == 1) {
        fmt::print(" {:>9.0f} {:>7.2f}x", 1e9 / last.ns_per_call, last.ns_per_call / cached);
      }
      good = good && last.bulk_copied == 0 && !last.broken;
    }
    fmt::print(" {:>8} {:>8}\n", last.copied, last.bulk_copied);
    std::fflush(stdout);
  }
  return good;
}

}  // namespace

bool print_cpu_table(const CpuTableOptions& options) {
  fmt::print(
      "Server CPU of a call over RDMA: RPC and transport, no file system; simulated device, 16 calls at "
      "once.\n"
      "Each thread has a reactor, a server, a device and a client of its own; the clients' and the devices'\n"
      "time is left out. {} cores here: with more threads than that, the columns say that nothing is "
      "shared,\n"
      "not how fast it would be. `odp` pays no page faults here.\n\n"
      "{:<17}  {:<34} {:>9} {:>9} {:>8} {:>9} {:>9} {:>9} {:>8} {:>8}\n",
      std::thread::hardware_concurrency(), "", "us of CPU per call, threads:", 1, "calls/s", "/ cache", 2, 4,
      8, "copied B", "payload");
  bool good = counts_copies();
  if (!good) fmt::print("The count of copies does not count.\n");
  for (const std::uint32_t bytes : {4096U, 1024U * 1024U})
    for (const DataProcedure procedure : {data_read, data_write})
      good = print_rows(procedure, bytes, options) && good;
  return good;
}

}  // namespace braid::bench
