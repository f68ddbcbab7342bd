// What `braid status` says of NFSv4.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "nfs4/engine.h"

namespace braid::server::roles::nfs {

// Adds "nfs4", what clients hold and the grace period, and "operations", to this JSON object.
// docs/operations.md describes their members.
void add_nfs4(nlohmann::json& report, const nfs4::Nfs4Engine& engine);
// A list of clients of an earlier run: what they call themselves, and whether with sessions (4.1 and later).
nlohmann::json known_clients(const std::vector<nfs4::state::KnownClient>& clients);

}  // namespace braid::server::roles::nfs
