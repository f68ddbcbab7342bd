#include "bench/load/generator.h"

#include <algorithm>

namespace braid::load {

namespace {

// A run that ends by a count has no other end; this one is never reached.
constexpr auto forever = std::chrono::hours(24 * 365);

base::Duration duration_of(double seconds) {
  return std::chrono::duration_cast<base::Duration>(std::chrono::duration<double>(seconds));
}

}  // namespace

io::Op<Report> Generator::run(std::span<const std::unique_ptr<Protocol>> connections) {
  for (const Share& share : options_.mix) weights_ += share.weight;
  schedule_start_ = reactor_.clock().now();
  io::Gate gate;
  std::uint64_t seed = options_.seed;
  for (const auto& connection : connections) {
    for (unsigned i = 0; i < options_.depth; ++i)
      io::spawn(gate, work(*connection, due_timers_.emplace_back(reactor_), ++seed));
  }
  const base::Duration warmup = duration_of(options_.warmup_seconds);
  if (phase_ == Phase::warming && warmup.count() > 0) (void)co_await timer_.until(schedule_start_ + warmup);
  if (phase_ == Phase::warming) begin_measuring();
  const base::Duration length = options_.count > 0 ? base::Duration(forever) : duration_of(options_.seconds);
  if (phase_ == Phase::measuring) (void)co_await timer_.until(reactor_.clock().now() + length);
  stop();
  co_await gate.drained();
  co_return std::move(report_);
}

void Generator::stop() {
  if (phase_ == Phase::measuring) end_measuring();
  phase_ = Phase::done;
  timer_.cancel();
  for (io::Timer& timer : due_timers_) timer.cancel();
}

io::Op<> Generator::work(Protocol& protocol, io::Timer& timer, std::uint64_t seed) {
  Worker worker{.protocol = protocol, .shared = shared_, .random = Random(seed)};
  while (const auto due = co_await next_due(timer)) {
    // Beyond the end of the file there is nothing to write.
    if (options_.fresh && begun_++ >= options_.count) break;
    const Operation operation = pick(worker.random);
    if (operation == Operation::remove) {
      const auto removable = shared_.workspace.take_removable();
      if (!removable) {
        report_.ran_out = true;
        stop();
        break;
      }
      worker.removable = *removable;
    }
    auto outcome = co_await perform(operation, worker).as_result();
    for (unsigned i = 0; i < repeats_max && !outcome && outcome.error().later; ++i) {
      if (phase_ == Phase::done) break;
      if (phase_ == Phase::measuring) ++report_.delayed;
      co_await reactor_.sleep(later);
      outcome = co_await perform(operation, worker).as_result();
    }
    note(operation, *due, outcome);
    if (!protocol.usable()) stop();
    // A call that fails at once must not keep everybody else from running.
    if (!outcome) co_await reactor_.yield();
  }
}

io::Op<std::optional<base::TimePoint>> Generator::next_due(io::Timer& timer) {
  if (phase_ == Phase::done) return std::optional<base::TimePoint>();
  if (options_.rate == 0) return std::optional(reactor_.clock().now());
  return wait_until_due(timer);
}

io::Op<std::optional<base::TimePoint>> Generator::wait_until_due(io::Timer& timer) {
  const auto due = schedule_start_ + duration_of(static_cast<double>(scheduled_++) / options_.rate);
  if (due > reactor_.clock().now()) {
    (void)co_await timer.until(due);
  } else if (phase_ == Phase::measuring) {
    ++report_.late;
  }
  if (phase_ == Phase::done) co_return std::nullopt;
  co_return due;
}

Operation Generator::pick(Random& random) const {
  if (options_.mix.size() == 1) return options_.mix.front().operation;
  std::uint64_t at = random.below(weights_);
  for (const Share& share : options_.mix) {
    if (at < share.weight) return share.operation;
    at -= share.weight;
  }
  return options_.mix.back().operation;
}

void Generator::note(Operation operation, base::TimePoint due, const base::Result<Done, Fault>& outcome) {
  if (phase_ != Phase::measuring) return;
  Tally& tally = report_.tallies[static_cast<std::size_t>(operation)];
  if (outcome) {
    tally.latency.add(reactor_.clock().now() - due);
    tally.bytes += outcome->bytes;
    tally.entries += outcome->entries;
  } else {
    ++tally.failures[std::string(outcome.error().status)];
  }
  if (++counted_ == options_.count) stop();
}

void Generator::begin_measuring() {
  phase_ = Phase::measuring;
  shared_.commits = {};
  measured_from_ = reactor_.clock().now();
  if (auto reading = meters_.client.read()) client_before_ = *reading;
  for (const ProcessMeter& server : meters_.servers)
    if (auto reading = server.read()) servers_before_.push_back(*reading);
}

void Generator::end_measuring() {
  report_.elapsed = reactor_.clock().now() - measured_from_;
  report_.commits = shared_.commits;
  if (auto reading = meters_.client.read(); reading && client_before_)
    report_.client = cost_between(*client_before_, *reading);
  if (servers_before_.size() != meters_.servers.size()) return;
  for (std::size_t i = 0; i < servers_before_.size(); ++i)
    if (auto reading = meters_.servers[i].read())
      report_.servers.push_back(cost_between(servers_before_[i], *reading));
}

}  // namespace braid::load
