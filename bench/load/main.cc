// braid-load: drives an NFS server and reports what it did and what it cost.
#include <fmt/format.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/metrics.h"
#include "base/unique_fd.h"
#include "bench/load/connection.h"
#include "bench/load/generator.h"
#include "bench/load/nfs3_protocol.h"
#include "bench/load/nfs4_protocol.h"
#include "bench/load/options.h"
#include "bench/load/report.h"
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
    for (const auto& connection : connections_) co_await connection->close();
    for (const auto& connection : to_data_servers_) co_await connection->close();
    co_await tcp_.close();
    reactor_.stop();
  }

 private:
  LoadOp<std::unique_ptr<Connection>> connect(std::uint16_t port) {
    const auto server = rpc::parse_address(options_.server, port);
    if (!server) co_return base::fail(Fault{"the server's address is not numeric"});
    co_return co_await connect(*server);
  }

  LoadOp<std::unique_ptr<Connection>> connect(rpc::PeerAddress server) {
    rpc::AuthSys caller;
    caller.machinename = "braid-load";
    caller.uid = options_.uid;
    caller.gid = options_.gid;
    auto connection = std::make_unique<Connection>(reactor_, pool_, tcp_, caller, random_number());
    co_await connection->open(server);
    co_return connection;
  }

  LoadOp<> drive() {
    step_ = "connecting";
    for (unsigned i = 0; i < options_.connections; ++i)
      connections_.push_back(co_await connect(options_.port));
    if (options_.nfs == NfsVersion::v3) connections_.push_back(co_await connect(options_.mount_port));
    for (unsigned i = 0; i < options_.connections; ++i) protocols_.push_back(protocol_over(i));
    step_ = "getting to know the server";
    auto known = co_await begin_all().as_result();
    if (known) known = co_await run_in_workspace().as_result();
    if (known) step_ = "taking leave";
    auto left = co_await end_all().as_result();
    co_await known;
    co_await left;
  }

  std::unique_ptr<Protocol> protocol_over(unsigned number) {
    Connection& connection = *connections_[number];
    if (options_.nfs == NfsVersion::v3)
      return std::make_unique<Nfs3Protocol>(connection, *connections_.back());
    return std::make_unique<Nfs4Protocol>(connection, minor_of(options_.nfs),
                                          fmt::format("{}.{}", name_, number), options_.depth,
                                          options_.layouts ? connector() : Connector());
  }

  Connector connector() {
    return [this](rpc::PeerAddress server) { return connect_to_data_server(server); };
  }
  LoadOp<Connection*> connect_to_data_server(rpc::PeerAddress server) {
    to_data_servers_.push_back(co_await connect(server));
    co_return to_data_servers_.back().get();
  }

  LoadOp<> begin_all() {
    for (const auto& protocol : protocols_) co_await protocol->begin();
  }

  LoadOp<> end_all() {
    for (const auto& protocol : protocols_) co_await protocol->end();
  }

  LoadOp<> run_in_workspace() {
    Protocol& first = *protocols_.front();
    step_ = "finding the export";
    const Handle root = co_await first.find_export(options_.export_path);
    Workspace workspace(first, reactor_, pool_, options_, root, name_);
    step_ = "preparing";
    auto ready = co_await prepare(workspace).as_result();
    if (ready) co_await measure(workspace);
    if (ready) step_ = "cleaning up";
    for (const auto& protocol : protocols_) (void)co_await workspace.detach(*protocol).as_result();
    if (ready)
      ready = co_await run_command(options_.after_command, "the command of --after failed").as_result();
    auto clean = co_await workspace.clean_up().as_result();
    co_await ready;
    co_await clean;
  }

  LoadOp<> prepare(Workspace& workspace) {
    co_await workspace.prepare();
    if (!options_.ready_command.empty()) {
      Protocol& first = *protocols_.front();
      co_await workspace.detach(first);
      co_await run_command(options_.ready_command, "the command of --ready failed");
      co_await workspace.attach(first);
    }
    for (std::size_t i = 1; i < protocols_.size(); ++i) co_await workspace.attach(*protocols_[i]);
  }

  // Nothing else happens meanwhile.
  static LoadOp<> run_command(const std::string& command, std::string_view failed) {
    if (!command.empty() && std::system(command.c_str()) != 0) co_await base::fail(Fault{failed});
  }

  LoadOp<> measure(Workspace& workspace) {
    Generator generator(reactor_, options_, workspace, meters_);
    const base::UniqueFd signals = signal_descriptor();
    io::Gate gate;
    io::spawn(gate, stop_at_signal(signals.get(), generator));
    auto report = co_await generator.run(protocols_).as_result();
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
  // Of this run: nobody else uses it on the server.
  const std::string name_ = fmt::format("braid-load.{}.{:08x}", getpid(), random_number());
  std::vector<std::unique_ptr<Connection>> connections_;  // with NFSv3 the last goes to the MOUNT port
  std::vector<std::unique_ptr<Connection>> to_data_servers_;
  std::vector<std::unique_ptr<Protocol>> protocols_;  // one over each of the others
  std::string_view step_;
  Report report_;
};

std::optional<Meters> open_meters(const Options& options) {
  auto client = ProcessMeter::open(getpid(), {});
  if (!client) {
    fmt::print(stderr, "braid-load: cannot measure myself: {}\n", base::message_of(client.error()));
    return std::nullopt;
  }
  Meters meters{.client = std::move(*client), .servers = {}};
  for (const int pid : options.pids) {
    auto server = ProcessMeter::open(pid, meters.servers.empty() ? options.alloc_count_file : std::string());
    if (!server) {
      fmt::print(stderr, "braid-load: cannot measure process {}: {}\n", pid,
                 base::message_of(server.error()));
      return std::nullopt;
    }
    meters.servers.push_back(std::move(*server));
  }
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
