#include "server/config/paths.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/result.h"

namespace braid::server::config {
namespace {

// The value of an environment variable that holds an absolute path, else empty.
std::string directory_from(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && value[0] == '/' ? value : std::string();
}

bool is_root() { return ::geteuid() == 0; }

}  // namespace

std::string default_state_dir() {
  if (is_root()) return "/var/lib/braid";
  if (const std::string state = directory_from("XDG_STATE_HOME"); !state.empty()) return state + "/braid";
  if (const std::string home = directory_from("HOME"); !home.empty()) return home + "/.local/state/braid";
  return fmt::format("/tmp/braid-state-{}", ::geteuid());
}

std::string default_runtime_dir() {
  if (is_root()) return runtime_dir_of_root;
  if (const std::string runtime = directory_from("XDG_RUNTIME_DIR"); !runtime.empty())
    return runtime + "/braid";
  return fmt::format("/tmp/braid-{}", ::geteuid());
}

std::string default_admin_socket(std::uint16_t port) {
  return fmt::format("{}/{}.sock", default_runtime_dir(), port);
}

std::vector<std::string> default_admin_sockets() {
  std::vector<std::string> sockets;
  std::error_code unreadable;
  for (const auto& entry : std::filesystem::directory_iterator(default_runtime_dir(), unreadable))
    if (entry.path().extension() == ".sock") sockets.push_back(entry.path().string());
  std::ranges::sort(sockets);
  return sockets;
}

std::expected<void, std::string> make_private_directory(const std::string& path) {
  std::error_code error;
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  if (!parent.empty()) std::filesystem::create_directories(parent, error);
  if (error)
    return std::unexpected(fmt::format("cannot make the directory {}: {}", parent.string(), error.message()));
  if (::mkdir(path.c_str(), 0700) == 0) return {};
  struct stat found{};
  if (errno != EEXIST || ::stat(path.c_str(), &found) != 0)
    return std::unexpected(
        fmt::format("cannot make the directory {}: {}", path, base::message_of(base::last_errno())));
  if (!S_ISDIR(found.st_mode)) return std::unexpected(fmt::format("{} is not a directory", path));
  // Somebody else's directory, in /tmp say, could be used to hand us false files.
  if (found.st_uid != ::geteuid() && found.st_uid != 0)
    return std::unexpected(fmt::format("{} belongs to another user (uid {})", path, found.st_uid));
  return {};
}

}  // namespace braid::server::config
