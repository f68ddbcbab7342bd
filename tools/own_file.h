// Files that a command of a store has for itself while it works on them.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/unique_fd.h"
#include "store/posix_medium.h"

namespace braid::tools {

// Nobody else has it open as long as this lives.
struct OwnFile {
  base::UniqueFd fd{};
  std::shared_ptr<store::FileLease> lease{};  // ends before fd is closed
  std::uint64_t size = 0;
};

enum class Taken : std::uint8_t { yes, in_use, failed };
// What went wrong is said on standard error; that it is in use is not.
Taken take_file(std::string_view command, const std::string& path, OwnFile& out);

// On standard error.
void complain(std::string_view command, const std::string& path, std::string_view what);

// So many files that they are made durable together; who waits for one of them does not wait for more.
template <class Draft>
struct FileBatch {
  static constexpr std::size_t files_max = 64;
  static constexpr std::uint64_t bytes_max = 256 * base::MiB;

  std::deque<OwnFile> files{};  // end last
  std::vector<Draft> drafts{};
  std::vector<std::string> paths{};
  std::uint64_t bytes = 0;

  void add(const std::string& path, OwnFile file, Draft draft, std::uint64_t more) {
    files.push_back(std::move(file));
    drafts.push_back(std::move(draft));
    paths.push_back(path);
    bytes += more;
  }
  [[nodiscard]] bool full() const { return drafts.size() >= files_max || bytes >= bytes_max; }
  void clear() {
    drafts.clear();
    paths.clear();
    files.clear();
    bytes = 0;
  }
};

}  // namespace braid::tools
