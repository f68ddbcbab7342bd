// The regular files of a tree, for commands that do something with each of them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace braid::tools {

struct TreeFiles {
  std::vector<std::string> paths;
  std::uint64_t bytes = 0;  // sizes
  std::uint64_t unreadable = 0;
};

struct WalkOptions {
  bool one_file_system = false;
  std::string left_out{};  // a directory that is not entered; empty: none
};

// Each inode once; links are not followed. `path` may be a file.
TreeFiles list_files(const std::string& path, const WalkOptions& options,
                     const std::function<void(const std::string& path, base::Errno error)>& complain);

// A bar on standard error, over the one that is there.
void draw_progress(std::uint64_t done, std::uint64_t all, double seconds);

}  // namespace braid::tools
