// Another process that has the state directory, and may be about to end.
#pragma once

#include <functional>
#include <string>

#include "base/clock.h"

namespace braid::server::roles::nfs {

// Calls `attempt` until it says false, which is that the directory is in nobody else's use, or
// `drain_seconds` are over, or this process is told to end (SIGTERM, SIGINT). Blocks; says in the log whom it
// waits for.
void while_in_use(const base::Clock& clock, const std::string& state_dir, unsigned drain_seconds,
                  const std::function<bool()>& attempt);
// For who gives up; a sentence for the user.
std::string in_use_text(const std::string& state_dir);

}  // namespace braid::server::roles::nfs
