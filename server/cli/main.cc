// The braid program: reads the command line and runs the command.
#include <fmt/format.h>

#include <cstdio>
#include <variant>

#include "server/cli/command_line.h"
#include "server/cli/state_command.h"
#include "server/cli/status_command.h"
#include "server/run/serve.h"
#include "tools/dedup_command.h"
#include "tools/hash_command.h"

using namespace braid::server::cli;
namespace run = braid::server::run;
namespace tools = braid::tools;

int main(int argc, char** argv) {
  const auto command = parse_command_line(argc, argv);
  if (!command) {
    fmt::print(command.error().code == 0 ? stdout : stderr, "{}", command.error().text);
    return command.error().code;
  }
  if (const auto* status = std::get_if<StatusCommand>(&*command)) return show_status(*status);
  if (const auto* list = std::get_if<ListCommand>(&*command)) return list_state(*list);
  if (const auto* client = std::get_if<ClientCommand>(&*command)) return act_on_client(*client);
  if (const auto* accepted = std::get_if<ExportCommand>(&*command)) return accept_export(*accepted);
  if (const auto* hash = std::get_if<tools::HashCommand>(&*command)) return tools::hash_files(*hash);
  if (const auto* dedup = std::get_if<tools::DedupCommand>(&*command)) return tools::estimate_dedup(*dedup);
  return run::serve(std::get<run::ServeCommand>(*command));
}
