#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "bench/hashing/rows.h"
#include "hashing/cuda/cuda_cards.h"
#include "hashing/engine.h"
#include "hashing/host/host_card.h"
#include "io/gate.h"
#include "io/reactor.h"

namespace braid::bench {
namespace {

using namespace hashing;

constexpr std::size_t job_bytes_max = 8 * base::MiB;
constexpr std::size_t large_bytes = 64 * base::MiB;  // one job that is spread over the cores
constexpr const char* card_name = "cards";
constexpr const char* alone_name = "cards, one slot: nothing overlaps";

// Jobs over the pool's own memory, as a server has them: slabs that are pinned for the card.
class Load {
 public:
  explicit Load(io::SlabPool& pool) {
    std::mt19937_64 random(1);
    for (std::size_t i = 0; i < 8 * job_bytes_max / io::large_slab_bytes; ++i) {
      slabs_.push_back(pool.acquire(io::SlabSize::large).value());
      for (std::size_t at = 0; at < io::large_slab_bytes; at += sizeof(std::uint64_t)) {
        const std::uint64_t word = random();
        std::memcpy(slabs_.back().data() + at, &word, sizeof word);
      }
    }
  }
  [[nodiscard]] std::vector<base::BytesView> pieces(std::size_t bytes) const { return job(bytes, 0).spans; }
  [[nodiscard]] Job job(std::size_t bytes, std::size_t number) const {
    Job out{.params = &params_};
    for (std::size_t i = number; bytes > 0; ++i) {
      const std::size_t take = std::min(bytes, io::large_slab_bytes);
      out.spans.emplace_back(slabs_[i % slabs_.size()].data(), take);
      bytes -= take;
    }
    return out;
  }

 private:
  std::vector<io::SlabRef> slabs_;
  const ChunkParams params_ = ChunkParams::of(Profile::general, Key());
};

struct Measured {
  double gb_per_second = 0, p50_us = 0, p99_us = 0;
};

// `depth` jobs of one size in flight for a while.
class Run {
 public:
  Run(Engine& engine, const Load& load, std::size_t bytes, std::size_t depth)
      : engine_(engine),
        load_(load),
        bytes_(bytes),
        depth_(depth),
        reactor_(io::Reactor::create({}, clock_).value()) {}

  Measured measure() {
    end_ = clock_.now() + (is_quick() ? std::chrono::milliseconds(10) : std::chrono::seconds(1));
    const base::TimePoint start = clock_.now();
    reactor_->post(std::function<void()>([this] {
      for (std::size_t i = 0; i < depth_; ++i) io::spawn(gate_, worker(i));
    }));
    reactor_->run();
    const double seconds = std::chrono::duration<double>(clock_.now() - start).count();
    std::ranges::sort(latencies_us_);
    const auto at = [this](double part) {
      return latencies_us_[static_cast<std::size_t>(part * static_cast<double>(latencies_us_.size() - 1))];
    };
    return {static_cast<double>(latencies_us_.size() * bytes_) / seconds / 1e9, at(0.5), at(0.99)};
  }

 private:
  io::Op<> worker(std::size_t number) {
    for (base::TimePoint start = clock_.now(); start < end_;) {
      const auto result = co_await engine_.submit(load_.job(bytes_, number++)).as_result();
      const base::TimePoint now = clock_.now();
      if (result) latencies_us_.push_back(std::chrono::duration<double, std::micro>(now - start).count());
      start = now;
    }
    if (++ended_ == depth_) reactor_->stop();
  }

  Engine& engine_;
  const Load& load_;
  const std::size_t bytes_, depth_;
  const base::SystemClock clock_;
  io::Gate gate_;
  std::unique_ptr<io::Reactor> reactor_;
  base::TimePoint end_{};
  std::vector<double> latencies_us_;
  std::size_t ended_ = 0;
};

constexpr std::array job_sizes{64 * base::KiB, 512 * base::KiB, base::MiB, 8 * base::MiB};

std::string row_name(const std::string& who, std::size_t bytes, std::size_t depth) {
  return fmt::format("{}: {} KiB, {} at a time", who, bytes / 1024, depth);
}

void engine_rows(const Table& table, const std::string& who, Engine& engine, const Load& load) {
  for (const std::size_t bytes : job_sizes)
    for (const std::size_t depth : {std::size_t{1}, std::size_t{16}}) {
      const Measured m = Run(engine, load, bytes, depth).measure();
      table.print(row_name(who, bytes, depth), m.gb_per_second,
                  fmt::format("p50 {:.0f} us, p99 {:.0f} us", m.p50_us, m.p99_us));
    }
}

std::vector<std::unique_ptr<Card>> cards_of(CardSource source, io::SlabPool& pool) {
  if (source == CardSource::cuda) return cuda_cards({}, pool);
  std::vector<std::unique_ptr<Card>> cards;
  cards.push_back(std::make_unique<HostCard>());
  return cards;
}

void card_engine_rows(const Table& table, const std::string& who, const EngineOptions& options,
                      std::vector<std::unique_ptr<Card>> cards, const Load& load) {
  const base::SystemClock clock;
  const auto engine = Engine::create(options, clock, std::move(cards)).value();
  engine_rows(table, who, *engine, load);
  for (const CardStats& card : engine->stats().cards)
    fmt::print("  card {}: {} batches, {} failures, {} wrong\n", card.name, card.batches, card.failures,
               card.wrong);
}

void print_without_card(const Table& table) {
  const std::string why = "no GPU (" + cuda_state().summary() + ")";
  for (const char* row : resident_rows) table.print_missing(row, why);
  for (const char* who : {card_name, alone_name})
    for (const std::size_t bytes : job_sizes)
      for (const std::size_t depth : {std::size_t{1}, std::size_t{16}})
        table.print_missing(row_name(who, bytes, depth), why);
}

}  // namespace

int print_card_rows(CardSource source) {
  const CudaState state = cuda_state();
  fmt::print("{}\n", state.driver);
  for (const CudaDevice& device : state.devices)
    fmt::print("card {}, {} bytes{}{}\n", device.name, device.memory_bytes,
               device.refused.empty() ? "" : ", not used: ", device.refused);
  const base::SystemClock clock;
  const Table table("cards; cut and hash, general, by the engine");
  io::SlabPool pool({.bytes_max = 512 * base::MiB});
  const Load load(pool);
  auto cards = cards_of(source, pool);
  const bool have_card = !cards.empty();
  if (have_card) {
    print_resident_rows(table, *cards.front(),
                        load.pieces(source == CardSource::cuda && !is_quick() ? large_bytes : 4 * base::MiB));
    card_engine_rows(table, card_name, {.mode = EngineMode::card, .inline_bytes = 0}, std::move(cards), load);
    EngineOptions alone{.mode = EngineMode::card, .inline_bytes = 0};
    alone.cards.limits.slots = 1;
    alone.cards.in_flight_max = 1;
    card_engine_rows(table, alone_name, alone, cards_of(source, pool), load);
  } else {
    print_without_card(table);
  }
  for (const unsigned workers : {1U, 2U, 4U, 16U}) {
    if (workers > std::thread::hardware_concurrency()) continue;
    const auto engine =
        Engine::create({.mode = EngineMode::cpu, .workers = workers, .inline_bytes = 0}, clock).value();
    engine_rows(table, fmt::format("{} cores", workers), *engine, load);
    const Measured m = Run(*engine, load, large_bytes, 1).measure();
    table.print(row_name(fmt::format("{} cores", workers), large_bytes, 1), m.gb_per_second,
                fmt::format("p50 {:.0f} us", m.p50_us));
  }
  print_engine_rows();
  return have_card ? 0 : 1;
}

}  // namespace braid::bench
