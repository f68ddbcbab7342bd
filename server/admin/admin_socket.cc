#include "server/admin/admin_socket.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

#include "base/result.h"

namespace braid::server::admin {
namespace {

std::optional<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) return std::nullopt;
  path.copy(address.sun_path, path.size());
  return address;
}

const sockaddr* generic(const sockaddr_un& address) { return reinterpret_cast<const sockaddr*>(&address); }

std::unexpected<std::string> failed(std::string_view action, const std::string& path) {
  return std::unexpected(fmt::format("{} {}: {}", action, path, base::message_of(base::last_errno())));
}

// Whether a living server is behind the socket. One that was killed a moment ago may still take connections,
// until the kernel has ended its rings, which it does when nothing else wants the processor; it never
// answers, and its end is a hang-up.
bool is_answered(const std::string& path) {
  constexpr int patience_ms = 15'000;
  constexpr std::string_view request = "{\"command\":\"status\"}\n";
  const auto socket = connect_admin(path);
  if (!socket || ::send(socket->get(), request.data(), request.size(), MSG_NOSIGNAL) < 0) return false;
  pollfd wait{socket->get(), POLLIN, 0};
  char first = 0;
  return ::poll(&wait, 1, patience_ms) == 0 || ::recv(socket->get(), &first, 1, 0) == 1;
}

}  // namespace

std::optional<AdminLink> AdminLink::create(const std::string& path, const std::string& socket) {
  std::error_code error;
  const std::string target = std::filesystem::absolute(socket, error).string();
  if (error) return std::nullopt;
  // One that was killed has left it: to ask there is to ask this server, which does not answer yet.
  if (std::filesystem::read_symlink(path, error) == target) return AdminLink(path, target);
  if (is_answered(path)) return std::nullopt;
  struct stat old{};
  if (::lstat(path.c_str(), &old) == 0 && !S_ISLNK(old.st_mode) && !S_ISSOCK(old.st_mode))
    return std::nullopt;
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return std::nullopt;
  if (::symlink(target.c_str(), path.c_str()) != 0) return std::nullopt;
  return AdminLink(path, target);
}

// Another server may have put its own there.
AdminLink::~AdminLink() {
  std::error_code error;
  if (!path_.empty() && std::filesystem::read_symlink(path_, error) == socket_) ::unlink(path_.c_str());
}

std::expected<base::UniqueFd, std::string> connect_admin(const std::string& path) {
  const std::optional<sockaddr_un> address = address_of(path);
  if (!address) return std::unexpected(fmt::format("'{}' is too long for the path of a socket", path));
  base::UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket || ::connect(socket.get(), generic(*address), sizeof *address) != 0) {
    if (errno != EACCES) return failed("no server answers on", path);
    return std::unexpected(fmt::format(
        "the server on {} answers only to root and to the user that it runs as, and this is user {}", path,
        ::geteuid()));
  }
  return socket;
}

std::expected<AdminSocket, std::string> AdminSocket::create(const std::string& path) {
  constexpr int backlog = 16;
  const std::optional<sockaddr_un> address = address_of(path);
  if (!address)
    return std::unexpected(fmt::format("the admin socket's path is too long ({} bytes, at most {})",
                                       path.size(), sizeof(sockaddr_un::sun_path) - 1));
  if (is_answered(path))
    return std::unexpected(
        fmt::format("another server answers on the admin socket {}; give this one another", path));
  struct stat old{};
  if (::lstat(path.c_str(), &old) == 0 && !S_ISSOCK(old.st_mode))
    return std::unexpected(fmt::format("{} exists and is no socket; it is not replaced", path));
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return failed("cannot replace the admin socket", path);
  base::UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const mode_t before = ::umask(0177);
  const bool bound = socket && ::bind(socket.get(), generic(*address), sizeof *address) == 0;
  ::umask(before);
  if (!bound || ::listen(socket.get(), backlog) != 0)
    return failed("cannot listen on the admin socket", path);
  return AdminSocket(path, std::move(socket));
}

AdminSocket::~AdminSocket() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

}  // namespace braid::server::admin
