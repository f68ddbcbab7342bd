// What a configuration means for NFSv4.
#pragma once

#include <cstddef>

#include "nfs4/engine.h"
#include "server/config/config.h"

namespace braid::server::roles::nfs {

// `open_files_max`: descriptors for files in use, as planned.
nfs4::EngineOptions nfs4_options(const config::Config& config, std::size_t open_files_max);

}  // namespace braid::server::roles::nfs
