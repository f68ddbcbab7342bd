#include "server/run/capabilities.h"

namespace braid::server::run {

std::expected<roles::nfs::Capabilities, std::string> capabilities_of(const config::Config& /*config*/,
                                                                     const std::string& /*state_dir*/,
                                                                     const base::Clock& /*clock*/) {
  return roles::nfs::Capabilities();
}

}  // namespace braid::server::run
