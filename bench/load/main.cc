// braid-load: drives an NFSv3 server and reports what it did and what it cost.
#include <fmt/format.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/metrics.h"
#include "base/unique_fd.h"
#include "bench/load/generator.h"
#include "bench/load/mount.h"
#include "bench/load/options.h"
#include "bench/load/report.h"
#include "bench/load/session.h"
#include "bench/load/workspace.h"
#include "io/gate.h"
#include "io/reactor.h"
#include "io/slab.h"
#include "rpc/socket_address.h"
#include "rpc/tcp_worker.h"

namespace braid::load {

namespace {

std::uint32_t random_number() {
  std::uint32_t number = 0;
  if (getrandom(&number, sizeof number, 0) != sizeof number) number = static_cast<std::uint32_t>(getpid());
  return number;
}

// SIGINT and SIGTERM end the run early, but its files are still removed.
base::UniqueFd signal_descriptor() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  return base::UniqueFd(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
}

// Everything of one run, from the first connection to the last.
class Application {
 public:
  Application(io::Reactor& reactor, io::SlabPool& pool, const Options& options, const Meters& meters)
      : reactor_(reactor),
        pool_(pool),
        options_(options),
        meters_(meters),
        tcp_metrics_(registry_),
        tcp_(reactor, pool, nullptr, rpc::TcpOptions{}, tcp_metrics_) {}

  // Ends with the exit status of the process, having printed the report or what went wrong.
  io::Op<> run(int& exit_status) {
    auto done = co_await drive().as_result();
    if (!done) fmt::print(stderr, "braid-load: {}: {}\n", step_, done.error().status);
    exit_status = done && report_.failed() == 0 && report_.calls() > 0 ? 0 : 1;
    for (const auto& session : sessions_) co_await session->close();
    co_await tcp_.close();
    reactor_.stop();
  }

 private:
  LoadOp<std::unique_ptr<Session>> connect(std::uint16_t port) {
    const auto server = rpc::parse_address(options_.server, port);
    if (!server) co_return base::fail(Fault{"the server's address is not numeric"});
    rpc::AuthSys caller;
    caller.machinename = "braid-load";
    caller.uid = options_.uid;
    caller.gid = options_.gid;
    auto session = std::make_unique<Session>(reactor_, pool_, tcp_, caller, random_number());
    co_await session->open(*server);
    co_return session;
  }

  LoadOp<> drive() {
    step_ = "MOUNT";
    sessions_.push_back(co_await connect(options_.mount_port));
    Session& mount_session = *sessions_.front();
    const Handle root = co_await mount(mount_session, options_.export_path);
    step_ = "connecting";
    for (unsigned i = 0; i < options_.connections; ++i) sessions_.push_back(co_await connect(options_.port));
    Workspace workspace(*sessions_[1], options_, root,
                        fmt::format("braid-load.{}.{:08x}", getpid(), random_number()));
    step_ = "preparing";
    auto ready = co_await workspace.prepare(pool_).as_result();
    if (ready) co_await measure(workspace);
    if (ready) step_ = "cleaning up";
    auto clean = co_await workspace.clean_up().as_result();
    co_await ready;
    co_await clean;
    co_await unmount(mount_session, options_.export_path);
  }

  LoadOp<> measure(Workspace& workspace) {
    Generator generator(reactor_, options_, workspace, meters_);
    const base::UniqueFd signals = signal_descriptor();
    io::Gate gate;
    io::spawn(gate, stop_at_signal(signals.get(), generator));
    auto report = co_await generator.run(std::span(sessions_).subspan(1)).as_result();
    reactor_.cancel_fd(signals.get());
    co_await gate.drained();
    report_ = std::move(*report);
    fmt::print("{}", options_.json ? json_of(report_, options_) : table_of(report_, options_));
  }

  io::Op<> stop_at_signal(int descriptor, Generator& generator) {
    auto readable = co_await reactor_.readable(descriptor);
    if (readable) generator.stop();
  }

  io::Reactor& reactor_;
  io::SlabPool& pool_;
  const Options& options_;
  const Meters& meters_;
  base::MetricRegistry registry_;
  rpc::TcpMetrics tcp_metrics_;
  rpc::TcpWorker tcp_;
  std::vector<std::unique_ptr<Session>> sessions_;  // the first to the MOUNT port, the others carry the load
  std::string_view step_;
  Report report_;
};

std::optional<Meters> open_meters(const Options& options) {
  auto client = ProcessMeter::open(getpid(), {});
  if (!client) {
    fmt::print(stderr, "braid-load: cannot measure myself: {}\n", base::message_of(client.error()));
    return std::nullopt;
  }
  Meters meters{.client = std::move(*client), .server = {}};
  if (!options.pid) return meters;
  auto server = ProcessMeter::open(*options.pid, options.alloc_count_file);
  if (!server) {
    fmt::print(stderr, "braid-load: cannot measure process {}: {}\n", *options.pid,
               base::message_of(server.error()));
    return std::nullopt;
  }
  meters.server.emplace(std::move(*server));
  return meters;
}

int run(const Options& options) {
  const auto meters = open_meters(options);
  if (!meters) return 1;
  const base::SystemClock clock;
  auto reactor = io::Reactor::create({}, clock);
  if (!reactor) {
    fmt::print(stderr, "braid-load: io_uring: {}\n", base::message_of(reactor.error()));
    return 1;
  }
  io::SlabPool pool({});
  int exit_status = 1;
  {
    Application application(**reactor, pool, options, *meters);
    io::Gate gate;
    (*reactor)->post([&] { io::spawn(gate, application.run(exit_status)); });
    (*reactor)->run();
  }
  return exit_status;
}

}  // namespace

}  // namespace braid::load

int main(int argc, char** argv) {
  const auto parsed = braid::load::parse_options(argc, argv);
  return parsed.options ? braid::load::run(*parsed.options) : parsed.exit_code;
}
