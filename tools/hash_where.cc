#include "tools/hash_where.h"

#include <fmt/format.h>

#include <cstdio>
#include <latch>
#include <map>
#include <memory>
#include <thread>

#include "base/clock.h"
#include "base/exit_code.h"
#include "hashing/cuda/cuda_cards.h"
#include "hashing/engine.h"
#include "hashing/stream_cutter.h"
#include "io/gate.h"
#include "io/reactor.h"
#include "io/slab.h"
#include "tools/hash_files.h"

namespace braid::tools {
namespace {

// With the open tail in front of it, a job is one part for the engine.
constexpr std::size_t job_bytes = 4 * base::MiB;
constexpr std::size_t pool_bytes = 256 * base::MiB;

double us(base::Duration duration) { return std::chrono::duration<double, std::micro>(duration).count(); }

// An engine as a server has it, for a caller that waits.
class WaitingEngine {
 public:
  WaitingEngine(io::Reactor& reactor, const base::Clock& clock)
      : reactor_(reactor),
        engine_(hashing::Engine::create({}, clock, hashing::cuda_cards({}, pool_)).value()),
        thread_([this] { reactor_.run(); }) {}
  ~WaitingEngine() {
    engine_->stop();
    reactor_.stop();
  }
  WaitingEngine(const WaitingEngine&) = delete;
  WaitingEngine& operator=(const WaitingEngine&) = delete;

  base::Result<hashing::JobResult> run(const hashing::Job& job) {
    base::Result<hashing::JobResult> result = base::fail(ECANCELED);
    // The reactor's thread may still be in count_down() when this one goes on.
    const auto done = std::make_shared<std::latch>(1);
    reactor_.post(std::function<void()>([&, done] { io::spawn(gate_, submit(job, result, done)); }));
    done->wait();
    return result;
  }
  [[nodiscard]] std::vector<hashing::CardStats> cards() const { return engine_->stats().cards; }

 private:
  io::Op<> submit(hashing::Job job, base::Result<hashing::JobResult>& result,
                  std::shared_ptr<std::latch> done) {
    result = co_await engine_->submit(std::move(job)).as_result();
    done->count_down();
  }

  io::SlabPool pool_{{.bytes_max = pool_bytes}};
  io::Gate gate_;
  io::Reactor& reactor_;
  const std::unique_ptr<hashing::Engine> engine_;
  std::jthread thread_;
};

// Runs jobs and prints a line for each.
class Jobs {
 public:
  Jobs(io::Reactor& reactor, const base::Clock& clock) : clock_(clock), engine_(reactor, clock) {}

  base::Result<hashing::JobResult> run(const hashing::Job& job) {
    const base::TimePoint start = clock_.now();
    auto result = engine_.run(job);
    const base::Duration took = clock_.now() - start;
    if (!result) return result;
    std::uint64_t bytes = 0;
    for (const base::BytesView span : job.spans) bytes += span.size();
    const hashing::Choice& choice = result->choice;
    const std::string place = place_of(choice);
    fmt::print("{:>14} {:>9} {:>9.0f} {:>9} {:>9}  {}: {}\n", job.stream_offset, bytes, us(took),
               estimate(choice.on_cores), estimate(choice.on_card), place, hashing::text_of(choice.reason));
    Total& total = totals_[place];
    ++total.jobs;
    total.bytes += bytes;
    return result;
  }
  static void print_head() {
    fmt::print("{:>14} {:>9} {:>9} {:>9} {:>9}  {}\n", "offset", "bytes", "us", "cores us", "card us",
               "where, and why there");
  }
  void print_totals() const {
    for (const auto& [place, total] : totals_)
      fmt::print("{}: {} jobs, {} bytes\n", place, total.jobs, total.bytes);
    for (const hashing::CardStats& card : engine_.cards())
      if (card.failures > 0) fmt::print("{}: {} failures, {} late\n", card.name, card.failures, card.late);
  }

 private:
  struct Total {
    std::uint64_t jobs = 0, bytes = 0;
  };
  // Nobody asks for an estimate where there is no choice.
  static std::string estimate(base::Duration duration) {
    return duration.count() == 0 ? "-" : fmt::format("{:.0f}", us(duration));
  }
  [[nodiscard]] std::string place_of(const hashing::Choice& choice) const {
    if (choice.where == hashing::Where::caller) return "caller";
    return choice.where == hashing::Where::worker ? "cores" : "card " + engine_.cards().at(choice.card).name;
  }

  const base::Clock& clock_;
  WaitingEngine engine_;
  std::map<std::string, Total> totals_;
};

}  // namespace

int print_where(const std::vector<std::string>& files, hashing::Algorithm algorithm,
                const hashing::ChunkParams& params, const hashing::Key& key) {
  const base::SystemClock clock;
  const auto reactor = io::Reactor::create({}, clock);
  if (!reactor) {
    fmt::print(stderr, "braid hash: io_uring: {}\n", base::message_of(reactor.error()));
    return base::exit_failed;
  }
  fmt::print("{}\n", hashing::cuda_state().summary());
  Jobs jobs(**reactor, clock);
  base::Bytes buffer(job_bytes);
  int code = 0;
  for (const std::string& file : files) {
    fmt::print("{}:\n", file);
    Jobs::print_head();
    hashing::StreamCutter cutter([&jobs](const hashing::Job& job) { return jobs.run(job); }, algorithm,
                                 params, key);
    const auto done =
        read_pieces(file, buffer, [&](base::BytesView piece, bool is_end) -> base::Result<void> {
          if (const auto chunks = cutter.feed(piece, is_end); !chunks) return base::fail(chunks.error());
          return {};
        });
    if (done) continue;
    fmt::print(stderr, "braid hash: {}: {}\n", file, base::message_of(done.error()));
    code = base::exit_failed;
  }
  jobs.print_totals();
  return code;
}

}  // namespace braid::tools
