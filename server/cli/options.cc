#include "server/cli/options.h"

#include <fmt/format.h>

namespace braid::server::cli {

CLI::Validator must(bool (*right)(const std::string&), const std::string& advice) {
  return CLI::Validator(
      [right, advice](std::string& value) {
        return right(value) ? std::string() : fmt::format("'{}' is wrong; {}", value, advice);
      },
      "");
}

CLI::App* add_subcommand(CLI::App& to, const admin::CommandName& name) {
  return to.add_subcommand(std::string(name.name), std::string(name.help));
}

void add_server_choice(CLI::App& command, ServerChoice& server) {
  command.add_option("--port", server.port, "The server on this port, if several run")->type_name("PORT");
  command.add_option("--admin", server.admin_socket, "Path of the server's admin socket")
      ->type_name("SOCKET");
}

}  // namespace braid::server::cli
