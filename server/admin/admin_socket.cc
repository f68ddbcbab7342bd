#include "server/admin/admin_socket.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <nlohmann/json.hpp>

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
// until the kernel has ended its rings; it never answers, and its end is a hang-up.
bool is_answered(const std::string& path) {
  constexpr int patience_ms = 2000;
  constexpr std::string_view request = "{\"command\":\"status\"}\n";
  const auto socket = connect_admin(path);
  if (!socket || ::send(socket->get(), request.data(), request.size(), MSG_NOSIGNAL) < 0) return false;
  pollfd wait{socket->get(), POLLIN, 0};
  char first = 0;
  return ::poll(&wait, 1, patience_ms) == 0 || ::recv(socket->get(), &first, 1, 0) == 1;
}

constexpr bool no_exceptions = false;

// The request, or what is wrong with it.
std::expected<AdminRequest, std::string_view> parse_request(std::string_view line) {
  const nlohmann::json object =
      nlohmann::json::parse(line.substr(0, line.find('\n')), nullptr, no_exceptions);
  if (!object.is_object()) return std::unexpected("the request is no JSON object");
  const auto command = object.find("command");
  if (command == object.end() || !command->is_string())
    return std::unexpected("the request has no \"command\"");
  AdminRequest request{.command = *command, .client = std::nullopt, .path = {}, .from = {}};
  if (const auto client = object.find("client"); client != object.end()) {
    if (client->is_string()) request.client = parse_client(client->get<std::string>());
    if (!request.client) return std::unexpected("\"client\" is no client's id, such as \"0x500000001\"");
  }
  if (const auto path = object.find("path"); path != object.end()) {
    if (!path->is_string()) return std::unexpected("\"path\" is no text");
    request.path = *path;
  }
  if (const auto from = object.find("from"); from != object.end()) {
    if (!from->is_string()) return std::unexpected("\"from\" is no text");
    request.from = *from;
  }
  return request;
}

io::Op<std::string> run(const AdminCommand& command, AdminRequest request) {
  const std::string answer = co_await command.answer(request);
  co_return answer + "\n";
}

}  // namespace

std::expected<base::UniqueFd, std::string> connect_admin(const std::string& path) {
  const std::optional<sockaddr_un> address = address_of(path);
  if (!address) return std::unexpected(fmt::format("'{}' is too long for the path of a socket", path));
  base::UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket || ::connect(socket.get(), generic(*address), sizeof *address) != 0)
    return failed("no server answers on", path);
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

bool admin_complete(std::string_view so_far) { return so_far.find('\n') != std::string_view::npos; }

std::string admin_error(std::string_view what) { return nlohmann::json{{"error", what}}.dump(); }

io::Op<std::string> admin_answer(std::string_view line, const std::vector<AdminCommand>& commands) {
  if (!admin_complete(line)) return admin_error("the request is no line of at most 4096 bytes") + "\n";
  auto request = parse_request(line);
  if (!request) return admin_error(request.error()) + "\n";
  for (const AdminCommand& command : commands)
    if (command.name == request->command) return run(command, std::move(*request));
  std::string known;
  for (const AdminCommand& command : commands) known += fmt::format(" {}", command.name);
  return admin_error("unknown command; known:" + known) + "\n";
}

std::optional<std::uint64_t> parse_client(std::string_view text) {
  const bool hex = text.starts_with("0x");
  if (hex) text.remove_prefix(2);
  std::uint64_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id, hex ? 16 : 10);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return id;
}

}  // namespace braid::server::admin
