#include "server/cli/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <system_error>

#include "server/config/suggest.h"

namespace braid::server::cli {

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  const std::vector<std::string_view> views(known.begin(), known.end());
  const std::string_view near = config::closest(word, views);
  return near.empty() ? std::string() : fmt::format("; did you mean {}?", near);
}

CLI::Validator must(bool (*right)(const std::string&), const std::string& advice) {
  return CLI::Validator(
      [right, advice](std::string& value) {
        return right(value) ? std::string() : fmt::format("'{}' is wrong; {}", value, advice);
      },
      "");
}

CLI::Validator one_of(std::initializer_list<std::string_view> words) {
  std::string advice;
  for (const std::string_view word : words) {
    const bool last = word.data() == std::prev(words.end())->data();
    advice += fmt::format("{}{}", advice.empty() ? "" : last ? " or " : ", ", word);
  }
  return CLI::Validator(
      [known = std::vector<std::string>(words.begin(), words.end()), advice](std::string& value) {
        if (std::ranges::find(known, value) != known.end()) return std::string();
        return fmt::format("'{}' is wrong; write {}{}", value, advice, did_you_mean(value, known));
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
  command.add_option("--config", server.config_file, "The server that has this configuration file")
      ->type_name("FILE");
}

}  // namespace braid::server::cli
