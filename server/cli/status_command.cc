#include "server/cli/status_command.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <string_view>

#include "server/cli/options.h"
#include "server/cli/status_table.h"
#include "server/run/admin_commands.h"

namespace braid::server::cli {

int show_status(const StatusCommand& command) {
  constexpr std::string_view name = "braid status";
  const auto answer = ask_server(command.server, R"({"command":"status"})");
  if (!answer) return failed(name, answer.error());
  const auto table = status_table(*answer);
  if (!table) return failed(name, fmt::format("the server's answer is not understood: {}", *answer));
  fmt::print("{}", command.json ? *answer : *table);
  return 0;
}

void add_status(CLI::App& app, Chosen& chosen) {
  const auto wanted = std::make_shared<StatusCommand>();
  CLI::App* status = add_subcommand(app, run::status_command);
  status->add_flag("--json", wanted->json, "As JSON");
  add_server_choice(*status, wanted->server);
  status->callback([wanted, &chosen] { choose(chosen, *wanted, show_status); });
}

}  // namespace braid::server::cli
