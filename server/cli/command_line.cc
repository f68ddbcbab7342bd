#include "server/cli/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <sstream>
#include <string>
#include <utility>

#include "base/exit_code.h"

namespace braid::server::cli {

std::expected<std::unique_ptr<Command>, Exit> parse_command_line(int argc, const char* const* argv) {
  CLI::App app("Braid: an NFS server for Linux", "braid");
  app.set_version_flag("--version", "braid " BRAID_VERSION);
  app.require_subcommand(1);
  Chosen chosen;
  for (const AddCommand add : commands()) add(app, chosen);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& wanted) {  // --help, --version
    std::ostringstream out, err;
    app.exit(wanted, out, err);
    return std::unexpected(Exit{0, out.str()});
  } catch (const CLI::ParseError& error) {
    const auto parsed = app.get_subcommands();
    const std::string name = parsed.empty() ? "braid" : "braid " + parsed.front()->get_name();
    return std::unexpected(
        Exit{base::exit_usage, fmt::format("{0}: {1}\nTry: {0} --help\n", name, error.what())});
  }
  return std::move(chosen.value());
}

}  // namespace braid::server::cli
