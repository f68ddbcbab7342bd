#include "server/roles/nfs/state_in_use.h"

#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "base/log.h"
#include "nfs4/engine.h"

namespace braid::server::roles::nfs {
namespace {

std::string other_server(const std::string& state_dir) {
  const auto process = nfs4::Nfs4Engine::user_of(state_dir);
  return process ? fmt::format("another server (process {})", *process) : "another server";
}

// These signals are held back until somebody attends to them.
bool told_to_end() {
  sigset_t pending;
  ::sigemptyset(&pending);
  ::sigpending(&pending);
  return ::sigismember(&pending, SIGTERM) == 1 || ::sigismember(&pending, SIGINT) == 1;
}

}  // namespace

void while_in_use(const base::Clock& clock, const std::string& state_dir, unsigned drain_seconds,
                  const std::function<bool()>& attempt) {
  bool in_use = attempt();
  // One that is about to end has that long to do so.
  const base::TimePoint patience = clock.now() + std::chrono::seconds(drain_seconds);
  if (in_use)
    base::log_event(base::Level::warning, "state_directory_in_use",
                    "{} uses the state directory {}; waiting up to {} s for its end", other_server(state_dir),
                    state_dir, drain_seconds);
  while (in_use && clock.now() < patience && !told_to_end()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    in_use = attempt();
  }
}

std::string in_use_text(const std::string& state_dir) {
  return fmt::format("{} uses the state directory {}; give another one with --state", other_server(state_dir),
                     state_dir);
}

}  // namespace braid::server::roles::nfs
