// [limits]
#include <fmt/format.h>

#include <cstddef>
#include <string_view>

#include "base/bytes.h"
#include "server/config/section.h"
#include "server/config/units.h"

namespace braid::server::config {
namespace {

constexpr std::size_t page_bytes = 4096;

}  // namespace

void read_limits(TomlReader& file, std::string_view name, Config& config) {
  auto section = file.section(name);
  if (!section) return;
  TomlReader& table = *section;
  Limits& limits = config.limits;
  using base::GiB, base::KiB, base::MiB;
  constexpr unsigned day_seconds = 86400;
  table.bytes("payload_bytes_max", limits.payload_bytes_max, page_bytes, MiB);
  if (limits.payload_bytes_max % page_bytes != 0)
    table.problem("payload_bytes_max", "'payload_bytes_max' is no multiple of 4 KiB; write e.g. \"1MiB\"");
  table.bytes("buffer_bytes_max", limits.buffer_bytes_max, 16 * MiB, 1024 * GiB);
  table.bytes("replay_cache_bytes_max", limits.replay_cache_bytes_max, 64 * KiB, 64 * GiB);
  table.bytes("connection_bytes_max", limits.connection_bytes_max, 2 * MiB, 64 * GiB);
  table.integer("connections_max", limits.connections_max, 1u, 1'000'000u);
  table.integer("open_files_max", limits.open_files_max, 16u, 10'000'000u);
  table.integer("blocking_threads_max", limits.blocking_threads_max, 1u, 1024u);
  table.integer("idle_seconds", limits.idle_seconds, 0u, 30 * day_seconds);
  table.integer("drain_seconds", limits.drain_seconds, 0u, 3600u);
  table.integer("lease_seconds", limits.lease_seconds, 5u, 3600u);
  table.integer("courtesy_seconds", limits.courtesy_seconds, 0u, 31'536'000u);
  table.integer("delegations_max", limits.delegations_max, 16u, 1'000'000u);
  table.integer("clients_max", limits.clients_max, 16u, 1'000'000u);
  table.integer("states_max", limits.states_max, 1024u, 16'000'000u);
  table.integer("client_states_max", limits.client_states_max, 64u, 16'000'000u);
  table.integer("file_locks_max", limits.file_locks_max, 64u, 262'144u);
  table.bytes("session_replies_bytes_max", limits.session_replies_bytes_max, MiB, 64 * GiB);
  if (limits.connection_bytes_max > limits.buffer_bytes_max)
    table.problem(
        "connection_bytes_max",
        fmt::format("'connection_bytes_max' ({}) is more than 'buffer_bytes_max' ({}); write less, or a "
                    "greater buffer_bytes_max",
                    bytes_text(limits.connection_bytes_max), bytes_text(limits.buffer_bytes_max)));
  table.finish();
}

}  // namespace braid::server::config
