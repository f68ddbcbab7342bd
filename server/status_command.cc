#include "server/status_command.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <array>
#include <cstdio>
#include <string_view>
#include <vector>

#include "server/admin_socket.h"
#include "server/paths.h"
#include "server/status_report.h"

namespace braid::server {
namespace {

int failed(std::string_view why) {
  fmt::print(stderr, "braid status: {}\n", why);
  return exit_failed;
}

// The socket to ask: the one that was named, or the only one on which a server answers.
std::expected<base::UniqueFd, std::string> choose(const StatusCommand& command) {
  if (!command.admin_socket.empty()) return connect_admin(command.admin_socket);
  if (command.port) return connect_admin(default_admin_socket(*command.port));
  base::UniqueFd only;
  std::string answering;
  for (const std::string& path : default_admin_sockets()) {
    auto socket = connect_admin(path);
    if (!socket) continue;
    if (only)
      return std::unexpected(
          fmt::format("several servers run here; name one with --port or --admin, e.g. "
                      "--admin {} or --admin {}",
                      answering, path));
    only = std::move(*socket);
    answering = path;
  }
  if (!only)
    return std::unexpected(
        fmt::format("no server answers in {}; name its socket with --admin, and be the user that it "
                    "runs as",
                    default_runtime_dir()));
  return only;
}

// One line each way; empty when the server hung up.
std::string ask(const base::UniqueFd& socket, std::string_view request) {
  if (::send(socket.get(), request.data(), request.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(request.size()))
    return {};
  std::string answer;
  std::array<char, 65536> chunk;
  for (ssize_t got; (got = ::recv(socket.get(), chunk.data(), chunk.size(), 0)) > 0;)
    answer.append(chunk.data(), static_cast<std::size_t>(got));
  return answer;
}

}  // namespace

int show_status(const StatusCommand& command) {
  const auto socket = choose(command);
  if (!socket) return failed(socket.error());
  const std::string answer = ask(*socket, "{\"command\":\"status\"}\n");
  if (answer.empty()) return failed("the server hung up");
  const auto table = status_table(answer);
  if (!table) return failed(fmt::format("the server's answer is not understood: {}", answer));
  fmt::print("{}", command.json ? answer : *table);
  return 0;
}

}  // namespace braid::server
