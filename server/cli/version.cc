#include "server/cli/version.h"

#include <fmt/format.h>

#include <string_view>

namespace braid::server::cli {

std::string version_text() {
  constexpr std::string_view commit = BRAID_COMMIT, sanitizers = BRAID_SANITIZERS;
#ifdef __clang__
  constexpr std::string_view compiler = "clang " __clang_version__;
#else
  constexpr std::string_view compiler = "g++ " __VERSION__;
#endif
  return fmt::format("braid {}\ncommit {}\nbuild {}, {}{}{}", BRAID_VERSION,
                     commit.empty() ? "unknown" : commit, BRAID_BUILD_TYPE, compiler,
                     sanitizers.empty() ? "" : ", sanitizers ", sanitizers);
}

}  // namespace braid::server::cli
