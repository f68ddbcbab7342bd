// Runs the load: workers that call, the clock that tells when, and the tallies.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>

#include "base/clock.h"
#include "bench/load/operations.h"
#include "bench/load/options.h"
#include "bench/load/process_meter.h"
#include "bench/load/protocol.h"
#include "bench/load/report.h"
#include "bench/load/workspace.h"
#include "io/gate.h"
#include "io/op.h"
#include "io/reactor.h"

namespace braid::load {

// The processes that are measured.
struct Meters {
  ProcessMeter client;
  std::vector<ProcessMeter> servers;
};

// One run; belongs to the reactor's thread. Every connection has `depth` workers, each with one call at a
// time. In closed loop a worker calls again when its call has ended. In open loop calls are due at fixed
// times, each is taken by the next free worker, and its latency counts from when it was due: a server that
// stalls is charged for all the calls that it kept waiting, not just for those that it held (no coordinated
// omission).
class Generator {
 public:
  Generator(io::Reactor& reactor, const Options& options, Workspace& workspace, const Meters& meters)
      : reactor_(reactor), options_(options), meters_(meters), shared_{options, workspace}, timer_(reactor) {}

  // Warms up, measures, and waits until every call has ended.
  io::Op<Report> run(std::span<const std::unique_ptr<Protocol>> connections);
  // Ends the run as soon as its calls have ended.
  void stop();

 private:
  enum class Phase : std::uint8_t {
    warming,    // load without tallies
    measuring,  // calls that end now count
    done,       // no new calls
  };
  io::Op<> work(Protocol& protocol, io::Timer& timer, std::uint64_t seed);
  // When the worker's next call is due, waiting until then in open loop; nothing when the run is over.
  io::Op<std::optional<base::TimePoint>> next_due(io::Timer& timer);
  io::Op<std::optional<base::TimePoint>> wait_until_due(io::Timer& timer);
  [[nodiscard]] Operation pick(Random& random) const;
  void note(Operation operation, base::TimePoint due, const base::Result<Done, Fault>& outcome);
  void begin_measuring();
  void end_measuring();

  io::Reactor& reactor_;
  const Options& options_;
  const Meters& meters_;
  Shared shared_;
  io::Timer timer_;                   // of run(): when the phase ends
  std::deque<io::Timer> due_timers_;  // of each worker, in open loop
  Phase phase_ = Phase::warming;
  base::TimePoint schedule_start_{};
  std::uint64_t scheduled_ = 0;  // open loop: calls that were given a due time
  std::uint64_t counted_ = 0;
  std::uint64_t begun_ = 0;
  unsigned weights_ = 0;
  base::TimePoint measured_from_{};
  std::optional<ProcessReading> client_before_;
  std::vector<ProcessReading> servers_before_;
  Report report_;
};

}  // namespace braid::load
