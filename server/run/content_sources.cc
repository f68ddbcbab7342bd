#include "server/run/content_sources.h"

#include <algorithm>

namespace braid::server::run {

ContentSources content_sources_of(const roles::nfs::Capabilities& capabilities) {
  if (capabilities.empty()) return {};
  const auto of = [capabilities](const config::ExportConfig& config) {
    std::vector<vfs::ContentSource*> all;
    for (const auto& capability : capabilities) {
      const std::vector<vfs::ContentSource*> some = capability->sources(config);
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  };
  return {.of = of, .take_pipes = std::ranges::all_of(capabilities, [](const auto& capability) {
                      return capability->takes_pipes();
                    })};
}

}  // namespace braid::server::run
