#include "server/roles/nfs/nfs4_options.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace braid::server::roles::nfs {
namespace {

nfs4::state::ClientOptions client_options(const config::Limits& limits) {
  constexpr std::size_t sessions_per_client = 2;  // on average
  nfs4::state::ClientOptions options;
  options.lease = std::chrono::seconds(limits.lease_seconds);
  options.courtesy = std::chrono::seconds(limits.courtesy_seconds);
  options.clients_max = limits.clients_max;
  options.sessions_max = sessions_per_client * limits.clients_max;
  options.reply_bytes_max = limits.session_replies_bytes_max;
  return options;
}

nfs4::state::StateLimits state_limits(const config::Limits& limits, std::size_t open_files_max) {
  constexpr std::uint32_t states_per_lock_range = 4;
  constexpr std::uint32_t states_per_owner = 16;       // of one client
  constexpr std::uint32_t states_per_known_owner = 4;  // of all clients
  nfs4::state::StateLimits out;
  out.states_max = limits.states_max;
  out.owners_max = limits.states_max / states_per_known_owner;
  out.states_per_client = std::min(limits.client_states_max, limits.states_max);
  out.lock_ranges_per_client = out.states_per_client / states_per_lock_range;
  out.lock_ranges_per_file = limits.file_locks_max;
  out.owners_per_client = out.states_per_client / states_per_owner;
  // Each keeps two descriptors, and opens need some too.
  constexpr std::size_t share = 8;
  const auto affordable =
      static_cast<std::uint32_t>(std::min<std::size_t>(open_files_max / share, UINT32_MAX));
  out.delegations_max = std::min(limits.delegations_max, affordable);
  out.delegations_per_client = std::max(1U, out.delegations_max / 2);
  return out;
}

}  // namespace

nfs4::EngineOptions nfs4_options(const config::Config& config, std::size_t open_files_max) {
  const auto payload = static_cast<std::uint32_t>(config.limits.payload_bytes_max);
  nfs4::EngineOptions options;
  options.nfs.read_bytes_max = payload;
  options.nfs.write_bytes_max = payload;
  options.nfs.delegations = config.delegations;
  options.nfs.recall_patience = std::chrono::milliseconds(30);
  options.clients = client_options(config.limits);
  options.states = state_limits(config.limits, open_files_max);
  options.ids.domain = config.idmap_domain.empty() ? nfs4::domain_of_host() : config.idmap_domain;
  options.ids.send_names = config.send_names;
  return options;
}

}  // namespace braid::server::roles::nfs
