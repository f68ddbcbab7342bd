// Which sources of contents a server has.
#pragma once

#include "server/export_set.h"
#include "server/roles/nfs/capability.h"

namespace braid::server::run {

// Those of the capabilities.
ContentSources content_sources_of(const roles::nfs::Capabilities& capabilities);

}  // namespace braid::server::run
