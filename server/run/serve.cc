#include "server/run/serve.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/exit_code.h"
#include "base/log.h"
#include "base/quoting.h"
#include "rpc/socket_address.h"
#include "rpc/tcp_listener.h"
#include "server/admin/admin_socket.h"
#include "server/config/endpoint.h"
#include "server/config/paths.h"
#include "server/metrics/server_metrics.h"
#include "server/process.h"
#include "server/run/announcement.h"
#include "server/run/capabilities.h"
#include "server/run/content_sources.h"
#include "server/run/control.h"
#include "server/run/data_servers.h"
#include "server/run/notify.h"
#include "server/run/reload.h"
#include "server/run/roles.h"
#include "server/server.h"

namespace braid::server::run {
namespace {

using base::Level;
using base::log_event;

int failed(std::string_view why) {
  fmt::print(stderr, "braid: {}\n", base::printable(why));
  return base::exit_failed;
}

// A server serves, too, if nobody listens to what it says.
void say(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
  std::clearerr(stdout);
}

std::string text_of_environment(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? std::string() : std::string(value);
}

// The state directory with its parents, as on a fresh account. What is there already is judged by who uses
// it.
std::expected<void, std::string> make_missing(const std::string& state_dir) {
  std::error_code unknown;
  if (std::filesystem::exists(state_dir, unknown) || unknown) return {};
  return config::make_private_directory(state_dir);
}

// Their roles are the last ones.
std::vector<DataServerPlace> places_of(const config::Config& config, const Server& server) {
  std::vector<DataServerPlace> out;
  out.reserve(config.data_servers.size());
  const std::size_t before = server.roles().size() - config.data_servers.size();
  for (const config::DataServerConfig& one : config.data_servers) {
    DataServerPlace place;
    place.name = one.name;
    place.mds = one.mds;
    place.directory = one.directory;
    place.port = server.roles()[before + out.size()]->listening.addresses.front().port;
    struct stat directory{};
    if (::stat(one.directory.c_str(), &directory) == 0) place.file_system = directory.st_dev;
    struct statvfs room{};
    if (::statvfs(one.directory.c_str(), &room) == 0)
      place.bytes_available = std::uint64_t{room.f_bavail} * room.f_frsize;
    out.push_back(std::move(place));
  }
  return out;
}

std::expected<base::UniqueFd, std::string> metrics_listener(const std::optional<rpc::PeerAddress>& address) {
  if (!address) return base::UniqueFd();
  auto socket = rpc::listen_on(*address);
  if (!socket)
    return std::unexpected(fmt::format("cannot serve metrics on {}: {}; give another address with --metrics",
                                       address->text(), base::message_of(socket.error())));
  return std::move(*socket);
}

std::expected<admin::AdminSocket, std::string> admin_socket(const config::Config& config,
                                                            std::uint16_t port) {
  if (!config.admin_socket.empty()) return admin::AdminSocket::create(config.admin_socket);
  if (auto made = config::make_private_directory(config::default_runtime_dir()); !made)
    return std::unexpected(made.error());
  return admin::AdminSocket::create(config::default_admin_socket(port));
}

int check(const ServeCommand& command, const config::Config& config) {
  const std::string missing = missing_directories(command, config);
  fmt::print(stderr, "{}", missing);
  if (!missing.empty()) return base::exit_failed;
  fmt::print(stderr, "{}", problems_text(command.config_file, doubts_about(config)));
  fmt::print("{}: right; {} exports\n", base::printable(command.config_file), config.exports.size());
  return 0;
}

Announcement announcement_of(const Server& server) {
  Announcement out;
  out.addresses = server.addresses();
  out.found_by_rpcbind = server.rpcbind().accepted > 0;
  out.restrictions = restrictions();
  if (const RdmaService* rdma = server.rdma()) out.rdma_port = rdma->port();
  for (const ExportSet::Entry& entry : server.exports().entries()) {
    out.exports.push_back(entry.config);
    const std::string restricted = entry.file_system == nullptr ? "" : entry.file_system->restricted();
    if (!restricted.empty() && std::ranges::find(out.restrictions, restricted) == out.restrictions.end())
      out.restrictions.push_back(restricted);
    if (!entry.unavailable.empty())
      out.restrictions.push_back(fmt::format("{} is unavailable: {}", entry.config.path, entry.unavailable));
  }
  for (const auto& [path, points] : server.exports().nested_mounts())
    for (const std::string& point : points) out.restrictions.push_back(nested_mount_text(path, point));
  return out;
}

// A second signal from here on ends the process at once.
void restore_signals() {
  sigset_t none;
  ::sigemptyset(&none);
  ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
}

// Where commands look that are not told where the socket is. Serving goes on without it.
std::optional<admin::AdminLink> admin_link(const config::Config& config, const admin::AdminSocket& admin,
                                           std::uint16_t port) {
  if (config.admin_socket.empty() || !config::make_private_directory(config::default_runtime_dir()))
    return std::nullopt;
  return admin::AdminLink::create(config::default_admin_socket(port), admin.path());
}

int run(const ServeCommand& command, Server& server, admin::AdminSocket admin, base::UniqueFd metrics_socket,
        const Served& served, const base::Clock& clock, Signals& signals) {
  const config::Config& config = served.config;
  for (const std::string& restriction : restrictions())
    log_event(Level::warning, "restricted", "{}", restriction);
  for (const config::Problem& doubt : config::doubts_about(config))
    log_event(Level::warning, "configuration_doubtful", "line={}: {}", doubt.line, doubt.what);
  const Notifier notifier(text_of_environment("NOTIFY_SOCKET"));
  auto reactor = io::Reactor::create({.ring_entries = 64}, clock);
  if (!reactor)
    return failed(fmt::format("io_uring is not available here: {}", base::message_of(reactor.error())));
  if (auto started = server.start(); !started) return failed(started.error());
  metrics::register_metrics(server, clock.wall());
  const auto link = admin_link(config, admin, server.port());
  const Reloader reloader(command, server, served, notifier, clock);
  Control control(**reactor, server, signals,
                  {.admin_listener = admin.take_listener(),
                   .metrics_listener = std::move(metrics_socket),
                   .reload = [&] { return reloader.reload(); }});
  if (!config.exports.empty()) say(announcement_text(announcement_of(server), config::reachable_address()));
  say(data_servers_text(places_of(config, server)));
  notifier.ready(fmt::format("serving {} exports on port {}", config.exports.size(), server.port()));
  log_event(Level::info, "serving", "port={} exports={} threads={} admin={}", server.port(),
            config.exports.size(), server.threads().size(), admin.path());

  const int signal = control.run();
  restore_signals();
  notifier.stopping();
  log_event(Level::info, "stopping", "signal={} connections={}", signal, server.connections());
  if (!server.stop(std::chrono::seconds(config.limits.drain_seconds))) {
    log_event(Level::error, "stop_timed_out", "calls still hang in the file system after {} s; ending anyway",
              config.limits.drain_seconds);
    ::unlink(admin.path().c_str());
    std::_Exit(base::exit_failed);
  }
  log_event(Level::info, "stopped", "every call was answered");
  if (const std::string why = server.failure(); !why.empty()) return failed(why);
  return 0;
}

}  // namespace

void apply(const ServeCommand::Overrides& overrides, config::Config& config) {
  if (!overrides.listen.empty()) config.listen = overrides.listen;
  if (overrides.port) config.port = *overrides.port;
  if (overrides.rdma_port) {
    config.rdma.on = true;
    config.rdma.port = *overrides.rdma_port;
  }
  if (overrides.threads) config.threads = *overrides.threads;
  if (!overrides.state_dir.empty()) config.state_dir = overrides.state_dir;
  if (!overrides.admin_socket.empty()) config.admin_socket = overrides.admin_socket;
  if (overrides.metrics) config.metrics = overrides.metrics;
  if (overrides.log_level) config.log_level = *overrides.log_level;
}

int serve(const ServeCommand& command) {
  auto served = read_served(command);
  if (!served) {
    fmt::print(stderr, "{}", served.error());
    return base::exit_usage;
  }
  config::Config* const config = &served->config;
  if (command.check_only) return check(command, *config);
  base::configure_log(
      {.level = config->log_level, .journal = !text_of_environment("JOURNAL_STREAM").empty()});
  const auto plan = plan_descriptors(*config, Server::threads_of(*config), raise_descriptor_limit());
  if (!plan) return failed(plan.error());
  std::string state_dir = config->state_dir.empty() ? config::default_state_dir() : config->state_dir;
  make_absolute(state_dir);

  if (auto made = make_missing(state_dir); !made) return failed(made.error());

  // Everything that belongs to the process comes before the first thread.
  Signals signals({SIGTERM, SIGINT, SIGHUP});
  const base::SystemClock clock;
  if (auto placed = place_data_servers(*config, state_dir); !placed) return failed(placed.error());
  const auto capabilities = capabilities_of(*config, state_dir, clock);
  if (!capabilities) return failed(capabilities.error());
  auto server = Server::create(*config, *plan, state_dir, clock, roles_of(*config, *capabilities),
                               content_sources_of(*capabilities));
  if (!server) return failed(server.error());
  auto metrics_socket = metrics_listener(config->metrics);
  if (!metrics_socket) return failed(metrics_socket.error());
  auto admin = admin_socket(*config, (*server)->port());
  if (!admin) return failed(admin.error());
  prepare_process();
  return run(command, **server, std::move(*admin), std::move(*metrics_socket), *served, clock, signals);
}

}  // namespace braid::server::run
