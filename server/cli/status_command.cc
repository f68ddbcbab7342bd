#include "server/cli/status_command.h"

#include <fmt/format.h>

#include "server/cli/status_table.h"

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

}  // namespace braid::server::cli
