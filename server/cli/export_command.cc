#include "server/cli/export_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <thread>
#include <vector>

#include "base/quoting.h"
#include "server/cli/options.h"
#include "server/run/admin_commands.h"

namespace braid::server::cli {

namespace {

std::string done_text(const std::string& action, const std::string& path) {
  const std::string name = base::printable(path);
  if (action == run::suspend_command.name) return fmt::format("The export {} is suspended.\n", name);
  if (action == run::resume_command.name) return fmt::format("The export {} is served again.\n", name);
  return fmt::format("The export {} is what its directory leads to now.\n", name);
}

// The texts of a list in an answer.
std::vector<std::string> texts_of(const nlohmann::json& answer, const char* member) {
  std::vector<std::string> out;
  if (const auto list = answer.find(member); list != answer.end() && list->is_array())
    for (const nlohmann::json& one : *list)
      if (one.is_string()) out.push_back(base::printable(one.get<std::string>()));
  return out;
}

}  // namespace

int act_on_export(const ExportCommand& command) {
  const nlohmann::json request{{"command", command.action}, {"path", command.path}};
  auto done = ask_json(command.server, request);
  // What still ran when it was suspended may have kept it in use for a moment.
  if (done && command.action == run::suspend_command.name && done->contains("note")) {
    std::this_thread::sleep_for(std::chrono::seconds(2));
    done = ask_json(command.server, request);
  }
  if (!done) return failed("braid export " + command.action, done.error());
  const std::string note = done->value("note", std::string());
  if (command.action == run::resume_command.name && !note.empty()) return failed("braid export resume", note);
  fmt::print("{}", done_text(command.action, command.path));
  if (!note.empty()) fmt::print("But {}.\n", base::printable(note));
  return 0;
}

int reload_server(const ReloadCommand& command) {
  constexpr std::string_view name = "braid reload";
  const auto text = ask_server(command.server, nlohmann::json{{"command", run::reload_command.name}}.dump());
  if (!text) return failed(name, text.error());
  const auto answer = nlohmann::json::parse(*text, nullptr, false);
  if (!answer.is_object())
    return failed(name, fmt::format("the server's answer is not understood: {}", *text));
  for (const std::string& mistake : texts_of(answer, "mistakes")) fmt::print(stderr, "{}\n", mistake);
  if (answer.contains("error")) return failed(name, answer.value("error", std::string()));
  for (const std::string& one : texts_of(answer, "unavailable"))
    fmt::print(stderr, "{}: the export is unavailable: {}\n", name, one);
  const auto restart = texts_of(answer, "needs_restart");
  if (!restart.empty())
    fmt::print(stderr, "{}: changed, and read at the start only: {}\n", name, fmt::join(restart, ", "));
  fmt::print("{} exports are in force.\n", answer.value("reloaded", std::uint64_t{0}));
  return 0;
}

void add_export(CLI::App& app, Chosen& chosen) {
  CLI::App* command = app.add_subcommand("export", "Decide about an export of a running server");
  command->require_subcommand(1);
  for (const admin::CommandName& name : {run::accept_command, run::suspend_command, run::resume_command}) {
    const auto wanted = std::make_shared<ExportCommand>();
    wanted->action = name.name;
    CLI::App* action = add_subcommand(*command, name);
    action->add_option("PATH", wanted->path, "The export, as clients mount it")->type_name(" ")->required();
    add_server_choice(*action, wanted->server);
    action->callback([wanted, &chosen] { choose(chosen, *wanted, act_on_export); });
  }
}

void add_reload(CLI::App& app, Chosen& chosen) {
  const auto wanted = std::make_shared<ReloadCommand>();
  CLI::App* reload = add_subcommand(app, run::reload_command);
  add_server_choice(*reload, wanted->server);
  reload->callback([wanted, &chosen] { choose(chosen, *wanted, reload_server); });
}

}  // namespace braid::server::cli
