#include "server/run/admin_commands.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>

#include "base/assert.h"
#include "server/run/status_report.h"
#include "server/server.h"

namespace braid::server::run {
namespace {

std::string accept(ExportSet& exports, const admin::AdminRequest& request) {
  if (request.path.empty()) return admin::admin_error("the request has no \"path\"");
  const auto done = exports.accept(request.path);
  if (!done) return admin::admin_error(done.error());
  return nlohmann::json{{"accepted", request.path}}.dump();
}

}  // namespace

std::vector<admin::AdminCommand> admin_commands(Server& server, base::TimePoint started) {
  std::vector<admin::AdminCommand> commands{
      {status_command, [&server, started](const admin::AdminRequest&) -> io::Op<std::string> {
         return status_json(server, started);
       }}};
  for (const auto& hosted : server.roles()) hosted->role->describe(commands);
  commands.push_back({accept_command, [&server](const admin::AdminRequest& request) -> io::Op<std::string> {
                        return accept(server.exports(), request);
                      }});
  std::set<std::string_view> names;
  base::check(std::ranges::all_of(
                  commands, [&](const auto& command) { return names.insert(command.called.name).second; }),
              "no two commands of the admin socket have the same name");
  return commands;
}

}  // namespace braid::server::run
