#include "server/run/admin_commands.h"

#include <algorithm>
#include <chrono>
#include <expected>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/assert.h"
#include "server/run/status_report.h"
#include "server/server.h"

namespace braid::server::run {
namespace {

// What is done with an export that a request names, and the member of the answer that says so.
std::string with_export(const admin::AdminRequest& request, const char* done_text,
                        const std::function<std::expected<std::string, std::string>()>& act) {
  if (request.path.empty()) return admin::admin_error("the request has no \"path\"");
  const auto done = act();
  if (!done) return admin::admin_error(done.error());
  nlohmann::json answer{{done_text, request.path}};
  if (!done->empty()) answer["note"] = *done;
  return answer.dump();
}

std::string reload_answer(const ReloadOutcome& outcome) {
  if (!outcome.mistakes.empty())
    return nlohmann::json{{"error", "the exports stay as they were"}, {"mistakes", outcome.mistakes}}.dump(
        -1, ' ', false, nlohmann::json::error_handler_t::replace);
  return nlohmann::json{{"reloaded", outcome.exports},
                        {"needs_restart", outcome.needs_restart},
                        {"unavailable", outcome.unavailable}}
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// What clients do not give back in time keeps the disk in use, and is told; so do bytes that it does not take
// in time.
io::Op<std::string> suspend(Server& server, admin::AdminRequest request) {
  constexpr base::Duration patience = std::chrono::seconds(5);
  for (const auto& hosted : server.roles())
    (void)co_await hosted->role->take_back(request.path, patience).as_result();
  const auto suspend_it = [&] { return server.exports().suspend(request.path); };
  std::string answer = with_export(request, "suspended", suspend_it);
  // The control thread has them synced, and closes the files.
  io::Reactor& reactor = *io::Reactor::current();
  const base::TimePoint until = reactor.clock().now() + patience;
  while (server.exports().is_syncing(request.path) && reactor.clock().now() < until) {
    (void)co_await reactor.sleep(std::chrono::milliseconds(20)).as_result();
    answer = with_export(request, "suspended", suspend_it);
  }
  co_return answer;
}

std::vector<admin::AdminCommand> export_commands(Server& server) {
  ExportSet& exports = server.exports();
  using Request = const admin::AdminRequest&;
  return {{accept_command,
           [&exports](Request request) -> io::Op<std::string> {
             return with_export(request, "accepted", [&]() -> std::expected<std::string, std::string> {
               if (auto done = exports.accept(request.path); !done)
                 return std::unexpected(std::move(done.error()));
               return std::string();
             });
           }},
          {suspend_command,
           [&server](Request request) -> io::Op<std::string> { return suspend(server, request); }},
          {resume_command, [&exports](Request request) -> io::Op<std::string> {
             return with_export(request, "resumed", [&] { return exports.resume(request.path); });
           }}};
}

}  // namespace

std::vector<admin::AdminCommand> admin_commands(Server& server, base::TimePoint started,
                                                const std::function<ReloadOutcome()>& reload) {
  std::vector<admin::AdminCommand> commands{
      {status_command, [&server, started](const admin::AdminRequest&) -> io::Op<std::string> {
         return status_json(server, started);
       }}};
  for (const auto& hosted : server.roles()) hosted->role->describe(commands);
  for (admin::AdminCommand& command : export_commands(server)) commands.push_back(std::move(command));
  commands.push_back({reload_command, [reload](const admin::AdminRequest&) -> io::Op<std::string> {
                        return reload_answer(reload());
                      }});
  std::set<std::string_view> names;
  base::check(std::ranges::all_of(
                  commands, [&](const auto& command) { return names.insert(command.called.name).second; }),
              "no two commands of the admin socket have the same name");
  return commands;
}

}  // namespace braid::server::run
