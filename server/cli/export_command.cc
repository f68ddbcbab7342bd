#include "server/cli/export_command.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "server/cli/options.h"
#include "server/run/admin_commands.h"

namespace braid::server::cli {

int accept_export(const ExportCommand& command) {
  const auto done = ask_json(command.server, {{"command", "accept"}, {"path", command.path}});
  if (!done) return failed("braid export accept", done.error());
  fmt::print("The export {} is what its directory leads to now.\n", command.path);
  return 0;
}

void add_export(CLI::App& app, Chosen& chosen) {
  CLI::App* command = app.add_subcommand("export", "Decide about an export of a running server");
  command->require_subcommand(1);
  const auto wanted = std::make_shared<ExportCommand>();
  CLI::App* accept = add_subcommand(*command, run::accept_command);
  accept->add_option("PATH", wanted->path, "The export, as clients mount it")->type_name(" ")->required();
  add_server_choice(*accept, wanted->server);
  accept->callback([wanted, &chosen] { choose(chosen, *wanted, accept_export); });
}

}  // namespace braid::server::cli
