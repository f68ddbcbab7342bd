// Files that a command of a store has for itself while it works on them.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/unique_fd.h"
#include "store/medium/posix_medium.h"
#include "tools/tree_files.h"

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

  std::vector<OwnFile> files{};  // end last
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

// Has `worker` take each file below `path` on its file system, but for what is in the store, and commit the
// last ones; draws progress on a terminal. How many could not be looked at.
template <class Worker>
std::uint64_t take_files(std::string_view command, const std::string& path, const std::string& store,
                         Worker& worker) {
  const TreeFiles files = list_files(path, {.one_file_system = true, .left_out = store},
                                     [command](const std::string& where, base::Errno error) {
                                       complain(command, where, base::message_of(error));
                                     });
  const bool draw = ::isatty(STDERR_FILENO) != 0;
  const auto start = std::chrono::steady_clock::now();
  for (const std::string& file : files.paths) {
    worker.take(file);
    if (draw)
      draw_progress(worker.bytes_done, files.bytes,
                    std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  worker.commit();
  if (draw) fmt::print(stderr, "\n");
  return files.unreadable;
}

}  // namespace braid::tools
