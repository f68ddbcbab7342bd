#include "server/run/reload.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <expected>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/log.h"
#include "base/quoting.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "server/run/capabilities.h"
#include "server/server.h"

namespace braid::server::run {
namespace {

using base::Level;
using base::log_event;

// The command line's paths may be relative; everything behind it wants them absolute.
void make_paths_absolute(config::Config& config) {
  for (config::ExportConfig& one : config.exports) make_absolute(one.directory);
  for (config::DataServerConfig& one : config.data_servers) {
    make_absolute(one.directory);
    make_absolute(one.secret);
  }
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::string_view one = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), one.size() + 1));
    if (!one.empty()) lines.emplace_back(one);
  }
  return lines;
}

void log_outcome(const ReloadOutcome& outcome, const std::string& file) {
  for (const std::string& mistake : outcome.mistakes)
    log_event(Level::error, "reload_failed", "{}; the exports stay as they were", mistake);
  if (!outcome.mistakes.empty()) return;
  log_event(Level::info, "reloaded", "exports={} file={}", outcome.exports, file);
  if (!outcome.needs_restart.empty())
    log_event(Level::warning, "reload_needs_restart", "{}: read at the start only; restart the server",
              fmt::join(outcome.needs_restart, ", "));
}

}  // namespace

void make_absolute(std::string& file) {
  if (file.empty()) return;
  std::error_code error;
  const auto path = std::filesystem::absolute(file, error).lexically_normal();
  if (!error) file = path.string();
  if (file.size() > 1 && file.ends_with('/')) file.pop_back();
}

std::expected<Served, std::string> read_served(const ServeCommand& command) {
  Served served{.config = command.config, .text = {}};
  if (!command.config_file.empty()) {
    auto text = config::read_text(command.config_file);
    if (!text) return std::unexpected(config::problems_text(command.config_file, text.error()));
    auto config = config::parse_config(*text);
    if (!config) return std::unexpected(config::problems_text(command.config_file, config.error()));
    apply(command.overrides, *config);
    served = {.config = std::move(*config), .text = std::move(*text)};
  }
  make_paths_absolute(served.config);
  return served;
}

std::string missing_directories(const ServeCommand& command, const config::Config& config) {
  std::string out;
  for (const config::ExportConfig& one : config.exports) {
    const base::UniqueFd directory(::open(one.directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (directory) continue;
    fmt::format_to(
        std::back_inserter(out),
        "{}:{}: the directory {} of the export {} cannot be opened: {}; the export is unavailable until it "
        "is there\n",
        base::printable(command.config_file), one.line, base::printable(one.directory),
        base::printable(one.path), base::message_of(base::last_errno()));
  }
  return out;
}

ReloadOutcome Reloader::outcome() const {
  ReloadOutcome outcome;
  const auto next = read_served(command_);
  if (!next) {
    outcome.mistakes = lines_of(next.error());
    return outcome;
  }
  auto done = can_reload(running_.config, next->config);
  if (done) done = server_.exports().apply(next->config.exports);
  if (!done) {
    outcome.mistakes = lines_of(done.error());
    return outcome;
  }
  outcome.exports = next->config.exports.size();
  outcome.needs_restart = config::changed_keys(running_.text, next->text);
  for (const ExportSet::Entry& entry : server_.exports().entries())
    if (!entry.unavailable.empty())
      outcome.unavailable.push_back(fmt::format("{}: {}", entry.config.path, entry.unavailable));
  return outcome;
}

ReloadOutcome Reloader::reload() const {
  if (command_.config_file.empty()) {
    log_event(Level::warning, "reload_ignored", "there is no configuration file");
    return {
        .mistakes = {"there is no configuration file"}, .exports = 0, .needs_restart = {}, .unavailable = {}};
  }
  notifier_.reloading(clock_.now());
  ReloadOutcome done = outcome();
  log_outcome(done, command_.config_file);
  notifier_.ready(done.mistakes.empty() ? "serving" : "serving; the last reload failed");
  return done;
}

}  // namespace braid::server::run
