#include "server/roles/nfs/nfs_role.h"

#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <thread>
#include <utility>

#include "base/log.h"
#include "base/siphash.h"
#include "server/roles/nfs/nfs4_options.h"
#include "server/roles/nfs/nfs4_report.h"
#include "server/roles/nfs/state_report.h"

namespace braid::server::roles::nfs {
namespace {

constexpr std::uint16_t nfs_port = 2049;

nfs3::Nfs3Options nfs3_options(const config::Limits& limits) {
  const auto payload = static_cast<std::uint32_t>(limits.payload_bytes_max);
  return {.read_bytes_max = payload, .write_bytes_max = payload};
}

Listen listen_of(const config::Config& config) {
  return {.addresses = config.listen,
          .port = config.port,
          .port_option = "--port",
          .rdma = config.rdma.on,
          .rpcbind = config.rpcbind.value_or(config.port == nfs_port)};
}

std::string other_server(const std::string& state_dir) {
  const auto process = nfs4::Nfs4Engine::user_of(state_dir);
  return process ? fmt::format("another server (process {})", *process) : "another server";
}

// These signals are held back until somebody attends to them.
bool told_to_end() {
  sigset_t pending;
  ::sigemptyset(&pending);
  ::sigpending(&pending);
  return ::sigismember(&pending, SIGTERM) == 1 || ::sigismember(&pending, SIGINT) == 1;
}

std::expected<std::unique_ptr<nfs4::Nfs4Engine>, std::string> open_engine(const Shared& shared,
                                                                          const config::Config& config) {
  const std::string& state_dir = shared.state_dir;
  const nfs4::EngineResources resources{shared.clock, shared.exports, shared.pool, shared.slabs,
                                        shared.metrics};
  const auto open = [&] {
    return nfs4::Nfs4Engine::create(nfs4_options(config, shared.open_files_max), resources, state_dir);
  };
  auto opened = open();
  // One that is about to end has that long to do so.
  const base::TimePoint patience = shared.clock.now() + std::chrono::seconds(config.limits.drain_seconds);
  const auto in_use = [&] { return !opened && opened.error() == base::errno_of(EBUSY); };
  if (in_use())
    base::log_event(base::Level::warning, "state_directory_in_use",
                    "{} uses the state directory {}; waiting up to {} s for its end", other_server(state_dir),
                    state_dir, config.limits.drain_seconds);
  while (in_use() && shared.clock.now() < patience && !told_to_end()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    opened = open();
  }
  if (opened) return std::move(*opened);
  if (in_use())
    return std::unexpected(fmt::format("{} uses the state directory {}; give another one with --state",
                                       other_server(state_dir), state_dir));
  return std::unexpected(fmt::format("cannot keep the records of NFSv4 clients in the state directory {}: {}",
                                     state_dir, base::message_of(opened.error())));
}

}  // namespace

std::expected<std::unique_ptr<Role>, std::string> NfsRole::make(const Shared& shared,
                                                                const config::Config& config) {
  auto nfs4 = open_engine(shared, config);
  if (!nfs4) return std::unexpected(std::move(nfs4.error()));
  return std::unique_ptr<Role>(new NfsRole(shared, config, std::move(*nfs4)));
}

NfsRole::NfsRole(const Shared& shared, const config::Config& config, std::unique_ptr<nfs4::Nfs4Engine> nfs4)
    : exports_(shared.exports),
      listen_(listen_of(config)),
      nfs3_(shared.exports, nfs3_options(config.limits)),
      mount_(shared.exports),
      nfs4_(std::move(nfs4)),
      programs_{nfs3_.program(), mount_.program(), nfs4_->program()},
      rpc_(shared.rpc, programs_, shared.metrics, base::random_sip_key()) {}

void NfsRole::start(std::span<const std::unique_ptr<ServerThread>> threads) {
  nfs4_->start(threads.front()->reactor(), threads.front()->tcp());
}

void NfsRole::describe(std::vector<admin::AdminCommand>& commands) {
  for (admin::AdminCommand& command : state_commands(*nfs4_, exports_))
    commands.push_back(std::move(command));
}

void NfsRole::report(nlohmann::json& members) const { add_nfs4(members, *nfs4_); }

}  // namespace braid::server::roles::nfs
