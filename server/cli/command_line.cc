#include "server/cli/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/exit_code.h"
#include "base/quoting.h"
#include "server/cli/options.h"
#include "server/cli/version.h"

namespace braid::server::cli {

namespace {

constexpr std::string_view program = "braid";

Exit usage(const std::string& name, std::string_view what) {
  return {base::exit_usage, fmt::format("{0}: {1}\nTry: {0} --help\n", name, base::printable(what))};
}

// What follows "help" is the command whose help is wanted: braid help client evict.
std::vector<std::string> words_of(int argc, const char* const* argv) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  if (words.empty() || words.front() != "help") return words;
  words.erase(words.begin());
  words.emplace_back("--help");
  return words;
}

// The subcommand that the words lead to, as far as they do, with what it is called.
struct Reached {
  const CLI::App* command;
  std::string name;
};

// No word in the place of a subcommand, or one that is none.
std::optional<Exit> unknown_command(const CLI::App& app, const std::vector<std::string>& words) {
  const std::string first = words.empty() ? std::string() : words.front();
  if (first.empty()) return usage(std::string(program), "a command is missing");
  if (first.starts_with('-') && app.get_option_no_throw(first) == nullptr)
    return usage(std::string(program), fmt::format("there is no option {} before a command", first));
  Reached at{&app, std::string(program)};
  for (const std::string& word : words) {
    std::vector<std::string> names;
    for (const CLI::App* sub : at.command->get_subcommands({})) names.push_back(sub->get_name());
    if (names.empty() || word.starts_with('-')) return std::nullopt;
    if (std::ranges::find(names, word) == names.end())
      return usage(at.name, fmt::format("there is no command '{}'{}", word, did_you_mean(word, names)));
    at = {at.command->get_subcommand(word), at.name + " " + word};
  }
  return std::nullopt;
}

// The subcommand that was parsed last.
Reached parsed_command(const CLI::App& app) {
  Reached at{&app, std::string(program)};
  for (auto parsed = at.command->get_subcommands(); !parsed.empty(); parsed = at.command->get_subcommands())
    at = {parsed.front(), at.name + " " + parsed.front()->get_name()};
  return at;
}

// An option that the command does not have, or a word that it does not expect.
Exit unexpected_words(const Reached& at) {
  const std::vector<std::string> left = at.command->remaining();
  // An unknown option comes with the words that were meant as its value.
  const auto option =
      std::ranges::find_if(left, [](const std::string& word) { return word.starts_with('-'); });
  if (option == left.end())
    return usage(at.name, fmt::format("'{}' is one word too many", left.empty() ? "" : left.front()));
  std::vector<std::string> names;
  for (const CLI::Option* known : at.command->get_options())
    for (const std::string& name : known->get_lnames()) names.push_back("--" + name);
  const std::string written = option->substr(0, option->find('='));
  return usage(at.name, fmt::format("there is no option {}{}", written, did_you_mean(written, names)));
}

}  // namespace

std::expected<std::unique_ptr<Command>, Exit> parse_command_line(int argc, const char* const* argv) {
  CLI::App app("Braid: an NFS server for Linux", std::string(program));
  app.set_version_flag("--version", version_text());
  app.require_subcommand(1);
  app.footer("braid help COMMAND tells the options of a command.");
  Chosen chosen;
  for (const AddCommand add : commands()) add(app, chosen);
  std::vector<std::string> words = words_of(argc, argv);
  if (auto unknown = unknown_command(app, words)) return std::unexpected(std::move(*unknown));
  try {
    std::ranges::reverse(words);  // as CLI11 takes them
    app.parse(std::move(words));
  } catch (const CLI::Success& wanted) {  // --help, --version
    std::ostringstream out, err;
    app.exit(wanted, out, err);
    return std::unexpected(Exit{0, out.str()});
  } catch (const CLI::ExtrasError&) {
    return std::unexpected(unexpected_words(parsed_command(app)));
  } catch (const CLI::ParseError& error) {
    return std::unexpected(usage(parsed_command(app).name, error.what()));
  }
  return std::move(chosen.value());
}

}  // namespace braid::server::cli
