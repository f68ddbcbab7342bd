// Counters and latency histograms that many threads add to cheaply, and their Prometheus text form.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"

namespace braid::base {

// The slot of a sharded counter that the calling thread uses: threads are numbered as they first ask.
std::size_t metric_shard();
constexpr std::size_t metric_shards = 8;

// The value of a label, as it stands between its quotes.
std::string escaped_label(std::string_view value);

// Adding costs one relaxed increment on a cache line that other threads rarely touch.
class Counter {
 public:
  // Returns what the calling thread's shard held before: good for doing something every so often.
  std::uint64_t add(std::uint64_t by = 1) {
    return shards_[metric_shard()].value.fetch_add(by, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t value() const {
    std::uint64_t sum = 0;
    for (const Shard& shard : shards_) sum += shard.value.load(std::memory_order_relaxed);
    return sum;
  }

 private:
  struct alignas(64) Shard {
    std::atomic<std::uint64_t> value{0};
  };
  std::array<Shard, metric_shards> shards_;
};

// Powers of two of a microsecond: bucket i counts durations below 2^i us; the last one everything else.
class LatencyHistogram {
 public:
  static constexpr std::size_t buckets = 24;  // below 1 us ... 4 s, more
  void add(Duration duration) {
    const auto ns = static_cast<std::uint64_t>(std::max<Duration::rep>(duration.count(), 0));
    const auto bucket = std::min(static_cast<std::size_t>(std::bit_width(ns / 1000)), buckets - 1);
    Shard& shard = shards_[metric_shard()];
    shard.counts[bucket].fetch_add(1, std::memory_order_relaxed);
    shard.nanoseconds.fetch_add(ns, std::memory_order_relaxed);
  }
  struct Snapshot {
    std::array<std::uint64_t, buckets> counts{};
    std::uint64_t nanoseconds = 0;
  };
  [[nodiscard]] Snapshot snapshot() const;

 private:
  struct alignas(64) Shard {
    std::array<std::atomic<std::uint64_t>, buckets> counts{};
    std::atomic<std::uint64_t> nanoseconds{0};
  };
  std::array<Shard, metric_shards> shards_;
};

// Owns every metric of a server. Registering happens at start-up; the objects stay valid as long as the
// registry. `labels` is the inside of the braces, e.g. `proc="READ",version="3"`, or empty.
class MetricRegistry {
 public:
  MetricRegistry() = default;
  // A part of another registry, for one of several that would register the same: what is registered here is
  // registered in `whole`, which outlives this one, and has `labels` before its own.
  MetricRegistry(MetricRegistry& whole, std::string_view labels) : whole_(&whole), labels_(labels) {}
  MetricRegistry(const MetricRegistry&) = delete;
  MetricRegistry& operator=(const MetricRegistry&) = delete;

  Counter& counter(std::string_view name, std::string_view help, std::string_view labels = {});
  LatencyHistogram& histogram(std::string_view name, std::string_view help, std::string_view labels = {});
  // A value read when somebody looks.
  void gauge(std::string_view name, std::string_view help, std::string_view labels,
             std::function<double()> read);
  // Same, for a value that only grows.
  void counter_function(std::string_view name, std::string_view help, std::string_view labels,
                        std::function<double()> read);
  // Series of a value that only grows, which come and go, read when somebody looks.
  struct Sample {
    std::string labels;
    double value = 0;
  };
  void counter_family(std::string_view name, std::string_view help,
                      std::function<std::vector<Sample>()> read);
  // Prometheus text exposition format 0.0.4, metrics of one name together; of a part, those of the whole.
  [[nodiscard]] std::string prometheus() const;

 private:
  enum class Kind : std::uint8_t { counter, histogram, gauge, counter_function, family };
  struct Entry {
    Kind kind;
    std::string name, help, labels;
    Counter* counter = nullptr;
    LatencyHistogram* histogram = nullptr;
    std::function<double()> read;
    std::function<std::vector<Sample>()> samples{};
  };
  // The labels of a series of this part, for the whole.
  [[nodiscard]] std::string in_whole(std::string_view labels) const;

  MetricRegistry* const whole_ = nullptr;
  const std::string labels_;
  mutable std::mutex mutex_;
  std::deque<Counter> counters_;
  std::deque<LatencyHistogram> histograms_;
  std::deque<Entry> entries_;
};

}  // namespace braid::base
