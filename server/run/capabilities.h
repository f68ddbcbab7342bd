// What this server can do besides serving files over NFS.
#pragma once

#include <expected>
#include <string>

#include "base/clock.h"
#include "server/config/config.h"
#include "server/roles/nfs/capability.h"

namespace braid::server::run {

// The list. May wait for another process, as NfsRole::make(); the error is a sentence for the user.
std::expected<roles::nfs::Capabilities, std::string> capabilities_of(const config::Config& config,
                                                                     const std::string& state_dir,
                                                                     const base::Clock& clock);
// Whether exports of `next` can be served without a restart by a server that was started with `running`; if
// not, a sentence.
std::expected<void, std::string> can_reload(const config::Config& running, const config::Config& next);

}  // namespace braid::server::run
