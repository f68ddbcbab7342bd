// Reads what lies in a store from the medium, to find damage while there may be a copy elsewhere.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/result.h"
#include "store/scrub_file.h"
#include "store/store.h"

namespace braid::store {

struct ScrubOptions {
  std::function<bool()> stop{};  // asked from time to time; empty: never
  // Called after so many bytes were read: waits as long as that is to take. Empty: nobody waits.
  std::function<void(std::uint64_t bytes)> pace{};
};

struct ScrubReport {
  bool stopped = false;                                 // since options.stop said so
  std::string alarm{};                                  // why it does not go on, a sentence
  std::uint64_t containers = 0, bytes = 0, chunks = 0;  // that were read
  std::uint64_t bad = 0;                                // places that are known to be bad now
};

// Of a store that is open for writing, and from which nobody removes containers meanwhile; belongs to one
// thread. What it finds is in the log, in the file `scrub`, and is never found again by who puts chunks.
class Scrubber {
 public:
  Scrubber(Store& store, const base::Clock& clock, ScrubOptions options)
      : store_(store), clock_(clock), options_(std::move(options)) {}

  // One that did not come to its end goes on, unless `anew`.
  void begin(bool anew);
  // Reads one container. False: the pass has ended, or does not go on.
  bool step();
  [[nodiscard]] const ScrubReport& report() const { return report_; }

 private:
  // Containers after which the file is written.
  static constexpr unsigned steps_noted = 16;
  [[nodiscard]] bool stops();
  base::Result<void> read_container(std::uint32_t number);
  void add_bad(Location at, const char* what);
  bool end_pass();
  bool note();

  Store& store_;
  const base::Clock& clock_;
  const ScrubOptions options_;
  ScrubState state_;
  ScrubReport report_;
  unsigned steps_ = 0;  // since the file was written
};

}  // namespace braid::store
