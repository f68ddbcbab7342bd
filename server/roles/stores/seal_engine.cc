#include "server/roles/stores/seal_engine.h"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "hashing/sliding_job.h"
#include "server/roles/stores/figures.h"
#include "store/sealing/oracle.h"

namespace braid::server::roles::stores {
namespace {

using nlohmann::json;

// The slots of some cards.
constexpr std::size_t pool_bytes_max = 512 * base::MiB;

hashing::EngineMode mode_of(config::StoreHashing hashing) {
  return hashing == config::StoreHashing::cuda ? hashing::EngineMode::card : hashing::EngineMode::automatic;
}

using hashing::CardStats;
constexpr std::array<Figure<CardStats>, 6> card_figures{{
    {&CardStats::jobs, "jobs", "braid_hashing_card_jobs_total", "Pieces that a card has done"},
    {&CardStats::bytes, "bytes", "braid_hashing_card_bytes_total", "Their bytes"},
    {&CardStats::batches, "batches"},
    {&CardStats::failures, "failures", "braid_hashing_card_failures_total",
     "Times that a card was taken out of use: an error, a wrong result, a batch that did not end"},
    {&CardStats::wrong, "wrong"},
    {&CardStats::jobs_redone, "jobs_redone", "braid_hashing_card_jobs_redone_total",
     "Pieces that cores have done, since a card did not"},
}};

json members_of(const CardStats& card) {
  json out = {{"name", card.name},
              {"out_of_use", card.quarantined},
              {"batch_microseconds", std::chrono::duration<double, std::micro>(card.fixed).count()},
              {"gb_per_second", card.gb_per_second}};
  add_figures<CardStats>(out, card_figures, card);
  return out;
}

}  // namespace

store::HashJob SealEngine::hash_as(config::StoreHashing hashing) {
  if (hashing == config::StoreHashing::cpu) return {};
  if (hashing == config::StoreHashing::oracle)
    return [](const hashing::Job& job, hashing::CpuHasher&) { return store::run_as_oracle(job); };
  if (hashing == config::StoreHashing::md5_tree)
    return [this](hashing::Job job, hashing::CpuHasher& own) {
      job.algorithm = hashing::Algorithm::md5_tree;
      const bool slides = job.work != hashing::Work::hash && job.params != nullptr && !job.params->is_fixed();
      return slides ? hashing::run_sliding(job) : run(job, own, hashing::EngineMode::automatic);
    };
  return [this, mode = mode_of(hashing)](const hashing::Job& job, hashing::CpuHasher& own) {
    return run(job, own, mode);
  };
}

base::Result<hashing::JobResult> SealEngine::run(const hashing::Job& job, hashing::CpuHasher& own,
                                                 hashing::EngineMode mode) {
  hashing::Engine* const one = engine();
  return one == nullptr ? own.run(job) : one->run(job, own, mode);
}

hashing::Engine* SealEngine::engine() {
  std::scoped_lock lock(mutex_);
  if (stopped_ || engine_ != nullptr) return engine_.get();
  pool_ = std::make_unique<io::SlabPool>(io::SlabPoolOptions{.bytes_max = pool_bytes_max});
  auto made =
      hashing::Engine::create({.workers = 1, .cards = cards_}, clock_, hashing::cuda_cards(cuda_, *pool_));
  if (made) engine_ = std::move(*made);
  return engine_.get();
}

void SealEngine::stop() {
  hashing::Engine* engine = nullptr;
  {
    std::scoped_lock lock(mutex_);
    stopped_ = true;
    engine = engine_.get();
  }
  if (engine != nullptr) engine->stop();
}

std::optional<hashing::EngineStats> SealEngine::stats() const {
  std::unique_lock lock(mutex_, std::try_to_lock);
  // Whoever has it for long looks for cards.
  if (!lock || engine_ == nullptr) return std::nullopt;
  return engine_->stats();
}

void SealEngine::register_metrics(base::MetricRegistry& metrics) const {
  using Sample = base::MetricRegistry::Sample;
  metrics.counter_family("braid_hashing_jobs_total", "Pieces of files that were cut and hashed", [this] {
    const auto now = stats().value_or(hashing::EngineStats{});
    return std::vector<Sample>{{"where=\"cores\"", static_cast<double>(now.jobs_inline + now.parts_worker)},
                               {"where=\"card\"", static_cast<double>(now.parts_card)}};
  });
  for (const Figure<CardStats>& figure : card_figures) {
    if (figure.metric == nullptr) continue;
    metrics.counter_family(figure.metric, figure.help, [this, member = figure.value] {
      std::vector<Sample> out;
      const auto now = stats().value_or(hashing::EngineStats{});
      out.reserve(now.cards.size());
      for (const CardStats& card : now.cards)
        out.push_back(
            {fmt::format("card=\"{}\"", base::escaped_label(card.name)), static_cast<double>(card.*member)});
      return out;
    });
  }
}

void SealEngine::report(json& members) const {
  const auto now = stats();
  if (!now) return;
  json cards = json::array();
  for (const CardStats& card : now->cards) cards.push_back(members_of(card));
  members["hashing"] = {{"bytes", now->bytes},
                        {"jobs_on_cores", now->jobs_inline + now->parts_worker},
                        {"jobs_on_cards", now->parts_card},
                        {"cards", std::move(cards)}};
}

}  // namespace braid::server::roles::stores
