#include "server/roles/stores/paths.h"

#include <algorithm>
#include <filesystem>

namespace braid::server::roles::stores {

std::string whole_path(const std::string& path) {
  std::error_code error;
  const std::filesystem::path out = std::filesystem::weakly_canonical(path, error);
  return error ? path : out.string();
}

bool lies_in(const std::string& path, const std::string& directory) {
  const std::filesystem::path inner(path), outer(directory);
  return std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first == outer.end();
}

}  // namespace braid::server::roles::stores
