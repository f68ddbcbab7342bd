// Putting the exports of a changed configuration file into force.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/clock.h"
#include "server/config/config.h"
#include "server/run/notify.h"
#include "server/run/serve.h"

namespace braid::server {
class Server;
}

namespace braid::server::run {

// What a command serves: the file's configuration with the command line's, or the latter alone. Paths are
// absolute. The error has a line for each mistake.
struct Served {
  config::Config config;
  std::string text;  // of the file
};
std::expected<Served, std::string> read_served(const ServeCommand& command);

// "FILE:LINE: the directory ... cannot be opened: ...", a line for each export whose directory is not there.
std::string missing_directories(const ServeCommand& command, const config::Config& config);

struct ReloadOutcome {
  std::vector<std::string> mistakes;  // none: the file is in force
  std::size_t exports = 0;
  std::vector<std::string> needs_restart;  // what has changed and is read at the start only
  std::vector<std::string> unavailable;    // sentences about exports that are not served
};

// On the control thread. What it refers to outlives it.
class Reloader {
 public:
  // `running`: what the server was started with.
  Reloader(const ServeCommand& command, Server& server, const Served& running, const Notifier& notifier,
           const base::Clock& clock)
      : command_(command), server_(server), running_(running), notifier_(notifier), clock_(clock) {}

  // A wrong file changes nothing. Says in the log, and to the service manager, what came of it.
  ReloadOutcome reload() const;

 private:
  ReloadOutcome outcome() const;

  const ServeCommand& command_;
  Server& server_;
  const Served& running_;
  const Notifier& notifier_;
  const base::Clock& clock_;
};

}  // namespace braid::server::run
