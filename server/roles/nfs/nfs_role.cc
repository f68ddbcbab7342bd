#include "server/roles/nfs/nfs_role.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>
#include <utility>

#include "base/log.h"
#include "base/siphash.h"
#include "io/reactor.h"
#include "nfs4/ops/open_support.h"
#include "nfs4/state/state_line.h"
#include "server/roles/nfs/nfs4_options.h"
#include "server/roles/nfs/nfs4_report.h"
#include "server/roles/nfs/state_in_use.h"
#include "server/roles/nfs/state_report.h"
#include "server/roles/nfs/usage_report.h"

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
          .rdma = config.rdma.on ? std::optional(config.rdma.port) : std::nullopt,
          .rpcbind = config.rpcbind.value_or(config.port == nfs_port)};
}

std::expected<std::unique_ptr<nfs4::Nfs4Engine>, std::string> open_engine(const Shared& shared,
                                                                          const config::Config& config,
                                                                          const nfs4::EngineParts& parts) {
  const std::string& state_dir = shared.state_dir;
  const nfs4::EngineResources resources{shared.clock, shared.exports, shared.pool, shared.slabs,
                                        shared.metrics};
  nfs4::EngineOptions options = nfs4_options(config, shared.open_files_max);
  options.callback_connections_max = shared.callbacks_max;
  base::Result<std::unique_ptr<nfs4::Nfs4Engine>> opened;
  const auto in_use = [&] { return !opened && opened.error() == base::errno_of(EBUSY); };
  while_in_use(shared.clock, state_dir, config.limits.drain_seconds, [&] {
    opened = nfs4::Nfs4Engine::create(options, resources, state_dir, parts);
    return in_use();
  });
  if (opened) return std::move(*opened);
  if (in_use()) return std::unexpected(in_use_text(state_dir));
  return std::unexpected(fmt::format("cannot keep the records of NFSv4 clients in the state directory {}: {}",
                                     state_dir, base::message_of(opened.error())));
}

std::vector<rpc::Program> with_capabilities(std::vector<rpc::Program> programs,
                                            const Capabilities& capabilities) {
  for (const auto& capability : capabilities)
    for (const rpc::Program& program : capability->programs()) programs.push_back(program);
  return programs;
}

// Whoever no export is for has less of the server's memory.
rpc::ServerOptions for_those_with_exports(const Shared& shared) {
  rpc::ServerOptions options = shared.rpc;
  options.knows = [&exports = shared.exports](const rpc::PeerAddress& peer) {
    const std::shared_ptr<const vfs::ExportTable> table = exports.current();
    return std::ranges::any_of(table->all(),
                               [&](const vfs::Export& each) { return each.allows({peer.bytes}); });
  };
  return options;
}

}  // namespace

std::expected<std::unique_ptr<Role>, std::string> NfsRole::make(const Shared& shared,
                                                                const config::Config& config,
                                                                Capabilities capabilities) {
  nfs4::EngineParts parts;
  for (const auto& capability : capabilities) capability->join(shared, parts);
  auto nfs4 = open_engine(shared, config, parts);
  if (!nfs4) return std::unexpected(std::move(nfs4.error()));
  return std::unique_ptr<Role>(new NfsRole(shared, config, std::move(*nfs4), std::move(capabilities)));
}

NfsRole::NfsRole(const Shared& shared, const config::Config& config, std::unique_ptr<nfs4::Nfs4Engine> nfs4,
                 Capabilities capabilities)
    : exports_(shared.exports),
      capabilities_(std::move(capabilities)),
      listen_(listen_of(config)),
      nfs3_(shared.exports, nfs3_options(config.limits)),
      mount_(shared.exports),
      nfs4_(std::move(nfs4)),
      programs_{nfs3_.program(), mount_.program(), nfs4_->program()},
      served_(with_capabilities(programs_, capabilities_)),
      rpc_(for_those_with_exports(shared), served_, shared.metrics, base::random_sip_key()) {
  register_exports_usage(shared.metrics, rpc_.usage(), shared.exports);
  register_clients_usage(shared.metrics, rpc_.usage());
}

void NfsRole::start(std::span<const std::unique_ptr<ServerThread>> threads) {
  nfs4_->start(threads.front()->reactor(), threads.front()->tcp());
  for (const auto& capability : capabilities_) capability->start(threads, *nfs4_);
}

// What one of them cannot do now keeps no other from doing it.
io::Op<> NfsRole::tick() {
  rpc_.usage().rank();
  (void)co_await nfs4_->tick().as_result();
  // The tree of a table that is not in force any more would keep its file systems.
  (void)nfs4_->state().pseudo.tree_of(exports_.current());
  for (const auto& capability : capabilities_) (void)co_await capability->tick().as_result();
}

namespace {

// Whether there are delegations of the export; the recall of those that are not recalled yet begins.
bool recall_of_export(const nfs4::ServerState& state, const vfs::Exports& table, std::string_view path) {
  const auto exports = table.current();
  bool any = false;
  nfs4::state::StateQuery query{
      .kind = nfs4::state::StateKind::delegation, .client = {}, .from = 0, .lines_max = 256};
  for (;;) {
    const nfs4::state::StatePage page =
        state.states.with([&](const nfs4::state::States& states) { return states.list(query); });
    for (const nfs4::state::StateLine& line : page.lines) {
      const vfs::Export* const home = exports->by_handle(line.file.view());
      if (home == nullptr || home->path != path) continue;
      any = true;
      if (!line.recalled) nfs4::ops::recall_all(state, line.file);
    }
    if (!page.next) return any;
    query.from = *page.next;
  }
}

}  // namespace

io::Op<> NfsRole::take_back(std::string export_path, base::Duration patience) {
  constexpr base::Duration pause = std::chrono::milliseconds(20);
  const nfs4::ServerState& state = nfs4_->state();
  const base::TimePoint until = state.clock.now() + patience;
  const auto table = exports_.current();
  const auto home = std::ranges::find(table->all(), export_path, &vfs::Export::path);
  if (state.callbacks == nullptr || home == table->all().end()) co_return;
  for (bool any = true; any;) {
    any = recall_of_export(state, exports_, export_path);
    for (const auto& capability : capabilities_) {
      const bool more = co_await capability->take_back(home->id);
      any = any || more;
    }
    if (!any || state.clock.now() >= until) co_return;
    co_await io::Reactor::current()->sleep(pause);
  }
}

io::Op<> NfsRole::close() {
  (void)co_await nfs4_->close().as_result();
  for (const auto& capability : capabilities_) (void)co_await capability->close().as_result();
}

void NfsRole::calls_ended() {
  if (const auto noted = nfs4_->note_held(); !noted)
    base::log_event(base::Level::warning, "client_records_failed", "{}", base::message_of(noted.error()));
}

void NfsRole::describe(std::vector<admin::AdminCommand>& commands) {
  for (admin::AdminCommand& command : state_commands(*nfs4_, exports_))
    commands.push_back(std::move(command));
  for (const auto& capability : capabilities_) capability->describe(commands);
}

void NfsRole::report(nlohmann::json& members) const {
  add_nfs4(members, *nfs4_);
  for (const auto& capability : capabilities_) capability->report(members);
}

}  // namespace braid::server::roles::nfs
