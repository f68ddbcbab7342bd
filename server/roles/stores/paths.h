// Which directory lies in which.
#pragma once

#include <string>

namespace braid::server::roles::stores {

// The path without links and dots, as far as it is there.
std::string whole_path(const std::string& path);
// Whether the one is the other, or lies below it; both as they are written.
bool lies_in(const std::string& path, const std::string& directory);

}  // namespace braid::server::roles::stores
