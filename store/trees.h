// The file `trees` of a store: which file systems have inodes in the registry, and where they were found
// last.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace braid::store {

struct Tree {
  std::uint32_t number = 0;
  std::string file_system;  // vfs::DirectoryIdentity::file_system
  std::string path;         // of a directory on it; a hint
  // It is gone for good, and its files with it: only the number is kept.
  [[nodiscard]] bool forgotten() const { return file_system.empty(); }
  friend bool operator==(const Tree&, const Tree&) = default;
};

std::string encode(const std::vector<Tree>& trees);
// Nothing: it is damaged, or of a later version.
std::optional<std::vector<Tree>> decode_trees(std::string_view text);

}  // namespace braid::store
