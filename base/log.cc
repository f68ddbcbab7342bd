#include "base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/guarded.h"
#include "base/log_limiter.h"
#include "base/quoting.h"

namespace braid::base {
namespace {

spdlog::level::level_enum spdlog_level(Level level) {
  switch (level) {
    case Level::debug:
      return spdlog::level::debug;
    case Level::info:
      return spdlog::level::info;
    case Level::warning:
      return spdlog::level::warn;
    case Level::error:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

// syslog(3) priorities as sd-daemon(3) prefixes.
const char* journal_prefix(Level level) {
  switch (level) {
    case Level::debug:
      return "<7>";
    case Level::info:
      return "<6>";
    case Level::warning:
      return "<4>";
    case Level::error:
      return "<3>";
  }
  return "<3>";
}

struct Log {
  std::shared_ptr<spdlog::logger> logger = spdlog::stderr_logger_mt("braid");
  bool journal = false;
  // By event, of which there are as many as the program has names for them.
  Guarded<std::map<std::string, LineQuota, std::less<>>> quotas;
  Log() { logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %^%l%$ %v"); }
};

Log& log() {
  static Log instance;
  return instance;
}

}  // namespace

void configure_log(const LogOptions& options) {
  log().logger->set_level(spdlog_level(options.level));
  log().journal = options.journal;
  log().logger->set_pattern(options.journal ? "%v" : "%Y-%m-%dT%H:%M:%S.%e%z %l %v");
}

bool log_enabled(Level level) { return log().logger->should_log(spdlog_level(level)); }

void log_line(LogSource source, Level level, std::string_view event, std::string_view text) {
  const auto left_out = log().quotas.with([&](auto& quotas) {
    auto found = quotas.find(event);
    if (found == quotas.end()) found = quotas.emplace(event, LineQuota()).first;
    return found->second.admit(SystemClock().now(), source);
  });
  if (!left_out) return;
  log().logger->log(spdlog_level(level), "{}{} {}{}", log().journal ? journal_prefix(level) : "", event,
                    printable(text), *left_out > 0 ? fmt::format(" lines_left_out={}", *left_out) : "");
}

}  // namespace braid::base
