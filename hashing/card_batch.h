// Packs tasks into one batch for a card, and turns the card's records back into results.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "hashing/card.h"
#include "hashing/result_checks.h"
#include "hashing/task.h"

namespace braid::hashing {

// Tasks that share a key, an algorithm and parameters (those of Work::hash have none and go with any).
class CardBatch {
 public:
  explicit CardBatch(const CardLimits& limits) : limits_(limits) {}

  // True if a card can do the job at all: it has no SHA-256, and a job is not more than a slot takes.
  static bool suits(const Job& job, std::uint64_t bytes, const CardLimits& limits);
  // False if the task does not fit beside what is in the batch.
  bool add(Task* task);
  [[nodiscard]] bool empty() const { return tasks_.empty(); }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] const std::vector<Task*>& tasks() const { return tasks_; }
  // What to start. The batch keeps it.
  const CardWork& finish();
  // Writes every task's result. False if the records are not what any input can give (gaps, lengths, order),
  // or are of an earlier batch, or the checks find a wrong one: then no result is to be trusted.
  bool read(std::span<const card::Record> records, ResultChecks& checks);
  void clear();

 private:
  struct Placed {
    Task* task;
    std::uint32_t first_stream;
  };
  void add_stream(std::span<const base::BytesView> spans, std::uint64_t offset, std::uint32_t flags,
                  std::uint32_t records);
  bool read_stream(const card::Stream& stream, std::span<const card::Record> records, std::uint32_t count,
                   JobResult& out) const;

  const CardLimits limits_;
  CardWork work_;
  std::vector<Task*> tasks_;
  std::vector<Placed> placed_;
  const ChunkParams* params_ = nullptr;
  std::uint64_t bytes_ = 0;
  std::uint32_t sequence_ = 0;
  std::uint32_t records_ = 0, tiles_ = 0, input_ = 0;
};

}  // namespace braid::hashing
