#include "server/cli/admin_client.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/exit_code.h"
#include "base/quoting.h"
#include "server/admin/admin_socket.h"
#include "server/config/config.h"
#include "server/config/paths.h"

namespace braid::server::cli {
namespace {

std::expected<base::UniqueFd, std::string> of_config(const std::string& file) {
  const auto text = config::read_text(file);
  if (!text) return std::unexpected(config::problems_text(file, text.error()));
  const auto config = config::parse_config(*text);
  if (!config) return std::unexpected(config::problems_text(file, config.error()));
  return admin::connect_admin(config->admin_socket.empty() ? config::default_admin_socket(config->port)
                                                           : config->admin_socket);
}

// The socket to ask: the one that was named, or the only one on which a server answers.
std::expected<base::UniqueFd, std::string> choose(const ServerChoice& server) {
  if (!server.admin_socket.empty()) return admin::connect_admin(server.admin_socket);
  if (!server.config_file.empty()) return of_config(server.config_file);
  if (server.port) return admin::connect_admin(config::default_admin_socket(*server.port));
  base::UniqueFd only;
  std::string answering;
  for (const std::string& path : config::default_admin_sockets()) {
    auto socket = admin::connect_admin(path);
    if (!socket) continue;
    if (only)
      return std::unexpected(
          fmt::format("several servers run here; name one with --port or --admin, e.g. "
                      "--admin {} or --admin {}",
                      answering, path));
    only = std::move(*socket);
    answering = path;
  }
  if (only) return only;
  const std::string looked_in = config::default_runtime_dir();
  if (::access(config::runtime_dir_of_root, F_OK) == 0 && looked_in != config::runtime_dir_of_root)
    return std::unexpected(fmt::format(
        "no server of user {} answers in {}; those of root, in {}, answer to root alone: try sudo",
        ::geteuid(), looked_in, config::runtime_dir_of_root));
  return std::unexpected(fmt::format(
      "no server answers in {}; name its socket with --admin, and be the user that it runs as", looked_in));
}

timeval timeval_of(std::chrono::milliseconds time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  return {.tv_sec = seconds.count(), .tv_usec = std::chrono::microseconds(time - seconds).count()};
}

}  // namespace

std::expected<std::string, std::string> ask_server(const ServerChoice& server, std::string_view request) {
  constexpr std::string_view hung_up = "the server hung up";
  const auto socket = choose(server);
  if (!socket) return std::unexpected(socket.error());
  const timeval patience = timeval_of(server.patience);
  ::setsockopt(socket->get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  const std::string line = std::string(request) + "\n";
  if (::send(socket->get(), line.data(), line.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(line.size()))
    return std::unexpected(std::string(hung_up));
  std::string answer;
  std::array<char, 65536> chunk;
  ssize_t got = 0;
  // signal(7): with a time limit the call is not taken up again by itself.
  while ((got = ::recv(socket->get(), chunk.data(), chunk.size(), 0)) > 0 || (got < 0 && errno == EINTR))
    if (got > 0) answer.append(chunk.data(), static_cast<std::size_t>(got));
  if (got < 0 && errno == EAGAIN)
    return std::unexpected(fmt::format("the server runs, but has not answered for {:.3g} seconds",
                                       std::chrono::duration<double>(server.patience).count()));
  if (!answer.ends_with('\n')) return std::unexpected(std::string(hung_up));
  return answer;
}

std::expected<nlohmann::json, std::string> ask_json(const ServerChoice& server,
                                                    const nlohmann::json& request) {
  constexpr bool no_exceptions = false;
  const auto answer = ask_server(server, request.dump());
  if (!answer) return std::unexpected(answer.error());
  nlohmann::json object = nlohmann::json::parse(*answer, nullptr, no_exceptions);
  if (!object.is_object())
    return std::unexpected(fmt::format("the server's answer is not understood: {}", *answer));
  if (const auto error = object.find("error"); error != object.end() && error->is_string())
    return std::unexpected(error->get<std::string>());
  return object;
}

int failed(std::string_view command, std::string_view why) {
  fmt::print(stderr, "{}: {}\n", command, base::printable(why));
  return base::exit_failed;
}

}  // namespace braid::server::cli
