#include "server/cli/options.h"

#include <fmt/format.h>

#include <charconv>
#include <system_error>

namespace braid::server::cli {

CLI::Validator must(bool (*right)(const std::string&), const std::string& advice) {
  return CLI::Validator(
      [right, advice](std::string& value) {
        return right(value) ? std::string() : fmt::format("'{}' is wrong; {}", value, advice);
      },
      "");
}

CLI::Validator number(std::uint64_t low, std::uint64_t high) {
  return CLI::Validator(
      [low, high](std::string& value) {
        std::uint64_t parsed = 0;
        const char* const end = value.data() + value.size();
        const auto [at, error] = std::from_chars(value.data(), end, parsed);
        if (error == std::errc() && at == end && parsed >= low && parsed <= high) return std::string();
        return fmt::format("'{}' is wrong; write a number from {} to {}", value, low, high);
      },
      "");
}

CLI::App* add_subcommand(CLI::App& to, const admin::CommandName& name) {
  return to.add_subcommand(std::string(name.name), std::string(name.help));
}

void add_server_choice(CLI::App& command, ServerChoice& server) {
  command.add_option("--port", server.port, "The server on this port, if several run")
      ->type_name("PORT")
      ->check(number(1, 65535));
  command.add_option("--admin", server.admin_socket, "Path of the server's admin socket")
      ->type_name("SOCKET");
}

}  // namespace braid::server::cli
