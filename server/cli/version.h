// braid --version
#pragma once

#include <string>

namespace braid::server::cli {

// The version, the commit that it was built from, if that is known, and how it was built.
std::string version_text();

}  // namespace braid::server::cli
