#include "server/run/content_sources.h"

namespace braid::server::run {

ContentSources content_sources_of() { return {}; }

}  // namespace braid::server::run
