#include "server/roles/nfs/state_report.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "nfs4/state/states.h"
#include "server/roles/nfs/commands.h"
#include "server/roles/nfs/nfs4_report.h"

namespace braid::server::roles::nfs {
namespace {

using nfs4::nfsstat4;
using nfs4::state::StateKind;
using nfs4::state::StateLine;
using nlohmann::json;

constexpr std::size_t lines_max = 500;  // of a page

std::string client_text(std::uint64_t id) { return fmt::format("{:#x}", id); }

std::string hex_text(base::BytesView bytes) {
  std::string out;
  for (const std::byte byte : bytes) out += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  return out;
}

template <std::size_t size>
std::optional<std::array<std::byte, size>> parse_hex(std::string_view text) {
  std::array<std::byte, size> out{};
  if (text.size() != 2 * size) return std::nullopt;
  for (std::size_t i = 0; i < size; ++i) {
    std::uint8_t byte = 0;
    const char* const begin = text.data() + 2 * i;
    if (std::from_chars(begin, begin + 2, byte, 16).ptr != begin + 2) return std::nullopt;
    out[i] = std::byte{byte};
  }
  return out;
}

// Names that clients chose may be no UTF-8.
std::string page_text(const json& page) { return page.dump(-1, ' ', false, json::error_handler_t::replace); }

std::string wrong_from() { return admin::admin_error("\"from\" is not what a page before has said"); }

std::int64_t seconds_of(base::Duration duration) {
  return std::chrono::duration_cast<std::chrono::seconds>(duration).count();
}

json client_json(const nfs4::state::ClientReport& client, const nfs4::state::StateCounts& counts,
                 base::Duration lease) {
  const char* const state = !client.confirmed ? "unconfirmed" : client.courtesy ? "courteous" : "active";
  return {{"id", client_text(client.client)},
          {"address", client.peer},
          {"minor_version", client.minor_version},
          {"name", client.owner},
          {"implementation", client.implementation},
          {"state", state},
          {"age_seconds", seconds_of(client.age)},
          {"silent_seconds", seconds_of(client.silent)},
          {"lease_left_seconds", std::max<std::int64_t>(seconds_of(lease - client.silent), 0)},
          {"callbacks", client.callbacks},
          {"recorded", client.recorded},
          {"sessions", client.sessions},
          {"opens", counts.of(StateKind::open)},
          {"locks", counts.of(StateKind::lock)},
          {"delegations", counts.of(StateKind::delegation)}};
}

std::string clients_page(const nfs4::ServerState& state, const admin::AdminRequest& request) {
  const auto after =
      request.from.empty() ? std::optional<std::uint64_t>(0) : admin::parse_client(request.from);
  if (!after) return wrong_from();
  const auto clients = state.clients.report(state.clock.now(), *after, lines_max);
  json lines = json::array();
  state.states.with([&](const nfs4::state::States& states) {
    for (const auto& client : clients)
      lines.push_back(client_json(client, states.count(client.client), state.clients.lease()));
  });
  json page{{"clients", std::move(lines)}};
  if (clients.size() == lines_max) page["next"] = client_text(clients.back().client);
  return page_text(page);
}

json session_json(const nfs4::state::SessionReport& session, base::TimePoint now) {
  return {{"id", hex_text(session.session)},
          {"client", client_text(session.client)},
          {"address", session.peer},
          {"minor_version", session.minor_version},
          {"age_seconds", seconds_of(now - session.created)},
          {"slots", session.slots.slots},
          {"slots_target", session.slots.target},
          {"slots_used", session.slots.used},
          {"running", session.slots.running},
          {"kept_bytes", session.slots.kept_bytes},
          {"request_bytes_max", session.fore.request_bytes_max},
          {"response_bytes_max", session.fore.response_bytes_max},
          {"cached_bytes_max", session.fore.cached_bytes_max},
          {"operations_max", session.fore.operations_max},
          {"back_slots", session.back.slots},
          {"back_connections", session.back_connections}};
}

std::string sessions_page(const nfs4::ServerState& state, const admin::AdminRequest& request) {
  const auto after =
      request.from.empty() ? std::optional(nfs4::state::SessionId{}) : parse_hex<16>(request.from);
  if (!after) return wrong_from();
  const auto sessions = state.clients.report_sessions(*after, lines_max);
  const base::TimePoint now = state.clock.now();
  json lines = json::array();
  for (const auto& session : sessions)
    if (!request.client || session.client == *request.client) lines.push_back(session_json(session, now));
  json page{{"sessions", std::move(lines)}};
  if (sessions.size() == lines_max) page["next"] = hex_text(sessions.back().session);
  return page_text(page);
}

// Where an open file is now, as far as the kernel knows without looking on a medium; else its handle.
std::string file_text(const StateLine& line, const vfs::ExportTable& exports) {
  const vfs::Export* const home = exports.by_handle(line.file.view());
  const vfs::FileRef held = line.open == nullptr ? line.held : line.open->file();
  const std::optional<std::string> inside = held ? held->path() : std::nullopt;
  if (!inside) return "handle " + hex_text(line.file.view());
  // An export that a reload has taken away has no path any more.
  return fmt::format("{}:{}", home == nullptr ? "(no export)" : home->path, *inside);
}

std::string access_text(std::uint8_t bits) {
  constexpr std::array<const char*, 4> texts{"-", "read", "write", "both"};
  return texts.at(bits & nfs4::state::share_both);
}

json range_json(const nfs4::state::HeldRange& held) {
  return {{"first", held.range.first},
          {"last", held.range.last},
          {"type", held.type == nfs4::state::LockMode::write ? "write" : "read"}};
}

json line_json(const StateLine& line, const vfs::ExportTable& exports, base::TimePoint now) {
  json out{{"stateid", fmt::format("{}:{}", line.id.seqid, hex_text(line.id.other))},
           {"client", client_text(line.client)},
           {"address", line.peer},
           {"minor_version", line.minor_version},
           {"age_seconds", seconds_of(now - line.made)},
           {"file", file_text(line, exports)}};
  if (line.kind == StateKind::delegation) {
    out["type"] = line.directory ? "directory" : line.write ? "write" : "read";
    out["recalled"] = line.recalled;
    return out;
  }
  if (line.kind == StateKind::layout) {
    out["iomode"] = line.write ? "read-write" : "read";
    out["recalled"] = line.recalled;
    return out;
  }
  out["owner"] = nfs4::state::printable(base::bytes_of(line.owner));
  if (line.kind == StateKind::open) {
    out["access"] = access_text(line.share.access);
    out["deny"] = access_text(line.share.deny);
    return out;
  }
  json ranges = json::array();
  for (const auto& held : line.ranges) ranges.push_back(range_json(held));
  out["ranges"] = std::move(ranges);
  out["range_count"] = line.range_count;
  return out;
}

std::string states_page(const nfs4::ServerState& state, const vfs::Exports& table, std::string_view name,
                        StateKind kind, const admin::AdminRequest& request) {
  nfs4::state::StateQuery query{.kind = kind, .client = request.client, .from = 0, .lines_max = lines_max};
  const char* const end = request.from.data() + request.from.size();
  if (!request.from.empty() && std::from_chars(request.from.data(), end, query.from).ptr != end)
    return wrong_from();
  const nfs4::state::StatePage found =
      state.states.with([&](const nfs4::state::States& states) { return states.list(query); });
  const auto exports = table.current();
  json lines = json::array();
  const base::TimePoint now = state.clock.now();
  for (const StateLine& line : found.lines) lines.push_back(line_json(line, *exports, now));
  json page{{name, std::move(lines)}};
  if (found.next) page["next"] = std::to_string(*found.next);
  return page_text(page);
}

std::string no_client(std::uint64_t client) {
  return admin::admin_error(fmt::format("there is no client {}", client_text(client)));
}

io::Op<std::string> evict(nfs4::Nfs4Engine& engine, const admin::AdminRequest& request) {
  if (!request.client) co_return admin::admin_error("the request has no \"client\"");
  const std::uint64_t client = *request.client;
  const auto gone = co_await engine.evict(client).as_result();
  if (gone && !*gone) co_return no_client(client);
  if (gone) co_return json{{"evicted", client_text(client)}}.dump();
  co_return admin::admin_error(fmt::format(
      "client {} is forgotten, but its record cannot be removed now ({}); what it held is kept until "
      "that works",
      client_text(client), name_of(gone.error())));
}

std::string trouble_text(nfsstat4 status, std::uint64_t client) {
  using enum nfsstat4;
  if (status == NFS4ERR_STALE_CLIENTID || status == NFS4ERR_EXPIRED) return no_client(client);
  if (status == NFS4ERR_MINOR_VERS_MISMATCH)
    return admin::admin_error(
        fmt::format("client {} speaks NFSv4.0, which cannot tell it that something is revoked; evict it",
                    client_text(client)));
  return admin::admin_error(fmt::format("the record of client {} cannot be removed now ({}); try again",
                                        client_text(client), name_of(status)));
}

io::Op<std::string> revoke(nfs4::Nfs4Engine& engine, const admin::AdminRequest& request) {
  if (!request.client) co_return admin::admin_error("the request has no \"client\"");
  const auto done = co_await engine.revoke(*request.client).as_result();
  if (!done) co_return trouble_text(done.error(), *request.client);
  co_return json{{"revoked", client_text(*request.client)}}.dump();
}

io::Op<std::string> end_grace(nfs4::Clients& clients) {
  constexpr std::size_t missing_names_max = 100;
  if (!clients.in_grace()) co_return admin::admin_error("there is no grace period");
  json missing = known_clients(clients.reclaiming(missing_names_max));
  const auto done = co_await clients.end_grace().as_result();
  if (!done)
    co_return admin::admin_error(fmt::format(
        "the end cannot be kept on disk now ({}); the grace period goes on", name_of(done.error())));
  co_return page_text({{"ended", true}, {"missing", std::move(missing)}});
}

}  // namespace

std::vector<admin::AdminCommand> state_commands(nfs4::Nfs4Engine& engine, const vfs::Exports& exports) {
  using Request = const admin::AdminRequest&;
  const auto states = [&](const admin::CommandName& command, StateKind kind) -> admin::AdminCommand {
    return {command,
            [&state = engine.state(), &exports, name = command.name, kind](Request request)
                -> io::Op<std::string> { return states_page(state, exports, name, kind, request); }};
  };
  return {{clients_command,
           [&state = engine.state()](Request request) -> io::Op<std::string> {
             return clients_page(state, request);
           }},
          {sessions_command,
           [&state = engine.state()](Request request) -> io::Op<std::string> {
             return sessions_page(state, request);
           }},
          states(opens_command, StateKind::open),
          states(locks_command, StateKind::lock),
          states(delegations_command, StateKind::delegation),
          states(layouts_command, StateKind::layout),
          {evict_command, [&engine](Request request) { return evict(engine, request); }},
          {revoke_command, [&engine](Request request) { return revoke(engine, request); }},
          {end_grace_command, [&engine](Request) { return end_grace(engine.state().clients); }}};
}

}  // namespace braid::server::roles::nfs
