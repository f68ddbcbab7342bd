// One line per event: `log_event(Level::info, "client_expired", "client={} age_s={}", id, age)`.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "base/log_source.h"

namespace braid::base {

enum class Level { debug, info, warning, error };

// Sets where lines go and from which level on; called once by main before threads start. Under systemd
// (`journal` true) each line carries the "<N>" priority prefix of sd-daemon(3) and no time stamp.
struct LogOptions {
  Level level = Level::info;
  bool journal = false;
};
void configure_log(const LogOptions& options);

bool log_enabled(Level level);
// Writes "event text" as one line; control characters in the text are escaped, so a peer cannot forge lines.
// Of an event no more than LineQuota::lines_max a minute, of which `source` has a share: the next line tells
// how many were left out.
void log_line(LogSource source, Level level, std::string_view event, std::string_view text);

template <class... Args>
void log_event(Level level, std::string_view event, fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled(level)) log_line({}, level, event, fmt::format(format, std::forward<Args>(args)...));
}
// Of what somebody outside brings about.
template <class... Args>
void log_event(LogSource source, Level level, std::string_view event, fmt::format_string<Args...> format,
               Args&&... args) {
  if (log_enabled(level)) log_line(source, level, event, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace braid::base
