// What cuts and hashes for the stores of a server: one engine, with the CUDA cards of the machine.
#pragma once

#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/metrics.h"
#include "hashing/cuda/cuda_cards.h"
#include "hashing/engine.h"
#include "io/slab.h"
#include "server/config/config.h"
#include "store/sealing/sealer.h"

namespace braid::server::roles::stores {

class SealEngine {
 public:
  explicit SealEngine(hashing::CudaOptions cuda = {}, const hashing::CardManagerOptions& cards = {})
      : cuda_(std::move(cuda)), cards_(cards) {}
  ~SealEngine() { stop(); }
  SealEngine(const SealEngine&) = delete;
  SealEngine& operator=(const SealEngine&) = delete;

  // For sealers, which call it on threads that may wait. The first job looks for cards, which takes as long
  // as a driver takes to start; "cpu" looks for none.
  store::HashJob hash_as(config::StoreHashing hashing);
  // Cards are used no more; what is hashed from now on, cores hash. From any thread.
  void stop();
  void register_metrics(base::MetricRegistry& metrics) const;
  // Adds "hashing", if anything was hashed.
  void report(nlohmann::json& members) const;

 private:
  hashing::Engine* engine();
  base::Result<hashing::JobResult> run(const hashing::Job& job, hashing::CpuHasher& own,
                                       hashing::EngineMode mode);
  // Nothing before the first job.
  [[nodiscard]] std::optional<hashing::EngineStats> stats() const;

  const hashing::CudaOptions cuda_;
  const hashing::CardManagerOptions cards_;
  const base::SystemClock clock_;
  mutable std::mutex mutex_;
  bool stopped_ = false;
  // Bytes that are not pinned are copied through it, and nothing else lies in it.
  std::unique_ptr<io::SlabPool> pool_;
  std::unique_ptr<hashing::Engine> engine_;  // ends before it
};

}  // namespace braid::server::roles::stores
