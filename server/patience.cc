#include "server/patience.h"

#include <chrono>
#include <csignal>
#include <thread>
#include <utility>

#include "base/log.h"

namespace braid::server {
namespace {

// These signals are held back until somebody attends to them.
bool told_to_end() {
  sigset_t pending;
  ::sigemptyset(&pending);
  ::sigpending(&pending);
  return ::sigismember(&pending, SIGTERM) == 1 || ::sigismember(&pending, SIGINT) == 1;
}

}  // namespace

Patience::Patience(const base::Clock& clock, std::string directory, unsigned drain_seconds)
    : clock_(clock),
      directory_(std::move(directory)),
      drain_seconds_(drain_seconds),
      end_(clock.now() + std::chrono::seconds(drain_seconds)) {}

bool Patience::lasts(std::string_view user) {
  if (!std::exchange(told_, true))
    base::log_event(base::Level::warning, "directory_in_use", "{} uses {}; waiting up to {} s for its end",
                    user, directory_, drain_seconds_);
  if (clock_.now() >= end_ || told_to_end()) return false;
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  return true;
}

}  // namespace braid::server
