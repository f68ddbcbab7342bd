// Which sources of contents a server has.
#pragma once

#include "server/export_set.h"

namespace braid::server::run {

// What a capability adds itself to.
ContentSources content_sources_of();

}  // namespace braid::server::run
