// Another process that has a directory which this one wants, and may be about to end.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"

namespace braid::server {

// Whoever finds a directory in use asks this, and tries again as long as it says so: for as long as a server
// that is told to end takes at most, and until this process is told to end (SIGTERM, SIGINT).
class Patience {
 public:
  // `directory`: as a sentence has it, such as "the state directory /var/lib/braid".
  Patience(const base::Clock& clock, std::string directory, unsigned drain_seconds);

  // Blocks for a moment. Says once in the log who is waited for: `user`.
  [[nodiscard]] bool lasts(std::string_view user);

 private:
  const base::Clock& clock_;
  const std::string directory_;
  const unsigned drain_seconds_;
  const base::TimePoint end_;
  bool told_ = false;
};

}  // namespace braid::server
