#include "tools/tree_files.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <set>
#include <utility>

namespace braid::tools {
namespace {

using Complain = std::function<void(const std::string& path, base::Errno error)>;

class TreeWalk {
 public:
  TreeWalk(const WalkOptions& options, const Complain& complain) : options_(options), complain_(complain) {}

  void take(const std::string& path, const struct stat& status) {
    if (!S_ISREG(status.st_mode) || !known_.emplace(status.st_dev, status.st_ino).second) return;
    out.paths.push_back(path);
    out.bytes += static_cast<std::uint64_t>(status.st_size);
  }
  void lost(const std::string& path, base::Errno error) {
    complain_(path, error);
    ++out.unreadable;
  }
  [[nodiscard]] bool enters(const std::string& path, const struct stat& status, dev_t top) const {
    if (options_.one_file_system && status.st_dev != top) return false;
    struct stat left_out{};
    return options_.left_out.empty() || ::stat(options_.left_out.c_str(), &left_out) != 0 ||
           left_out.st_dev != status.st_dev || left_out.st_ino != status.st_ino || path.empty();
  }

  TreeFiles out;

 private:
  const WalkOptions& options_;
  const Complain& complain_;
  std::set<std::pair<dev_t, ino_t>> known_;
};

}  // namespace

TreeFiles list_files(const std::string& path, const WalkOptions& options, const Complain& complain) {
  namespace fs = std::filesystem;
  TreeWalk walk(options, complain);
  struct stat top{};
  if (::lstat(path.c_str(), &top) != 0) {
    walk.lost(path, base::last_errno());
    return std::move(walk.out);
  }
  if (!S_ISDIR(top.st_mode) && !S_ISLNK(top.st_mode)) {
    walk.take(path, top);
    return std::move(walk.out);
  }
  (void)::stat(path.c_str(), &top);
  std::error_code error;
  fs::recursive_directory_iterator at(path, fs::directory_options::none, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    struct stat status{};
    if (::lstat(at->path().c_str(), &status) != 0) {
      walk.lost(at->path(), base::last_errno());
      continue;
    }
    if (S_ISDIR(status.st_mode) && !walk.enters(at->path(), status, top.st_dev))
      at.disable_recursion_pending();
    walk.take(at->path(), status);
  }
  if (error) walk.lost(path, base::errno_of(error.value()));
  return std::move(walk.out);
}

void draw_progress(std::uint64_t done, std::uint64_t all, double seconds) {
  constexpr int width = 40;
  const double part = all == 0 ? 1.0 : static_cast<double>(std::min(done, all)) / static_cast<double>(all);
  const int filled = static_cast<int>(part * width);
  fmt::print(stderr, "\r[{:=<{}}{: <{}}] {:3.0f} %  {:.2f} GB/s ", "", filled, "", width - filled, part * 100,
             seconds > 0 ? static_cast<double>(done) / seconds / 1e9 : 0.0);
  std::fflush(stderr);
}

}  // namespace braid::tools
