// Latencies with a relative error below 1 %, from 1 ns to hours, in fixed memory (the idea of HdrHistogram).
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/clock.h"

namespace braid::load {

// Values below 128 have a bucket each; above, every power of two is cut into 128 equal buckets.
class Histogram {
 public:
  void add(base::Duration value) {
    const std::uint64_t ns = value.count() < 0 ? 0 : static_cast<std::uint64_t>(value.count());
    ++buckets_[bucket_of(ns)];
    ++count_;
    sum_ += ns;
    if (ns > max_) max_ = ns;
    if (ns < min_) min_ = ns;
  }
  void merge(const Histogram& other);

  [[nodiscard]] std::uint64_t count() const { return count_; }
  // All below are 0 while nothing was added.
  [[nodiscard]] base::Duration mean() const;
  [[nodiscard]] base::Duration min() const;
  [[nodiscard]] base::Duration max() const;
  // The smallest recorded value that at least `fraction` (0 to 1) of all values do not exceed, rounded up to
  // the end of its bucket but never above max().
  [[nodiscard]] base::Duration quantile(double fraction) const;

 private:
  static constexpr unsigned sub_bits = 7;
  static constexpr std::size_t sub_buckets = std::size_t{1} << sub_bits;
  static constexpr unsigned magnitude_max = 44;  // 2^44 ns: 4.9 hours; longer ones count as this
  static constexpr std::size_t bucket_count = (magnitude_max - sub_bits + 1) * sub_buckets;

  static std::size_t bucket_of(std::uint64_t ns) {
    if (ns < sub_buckets) return static_cast<std::size_t>(ns);
    const auto magnitude = static_cast<unsigned>(std::bit_width(ns)) - 1;
    if (magnitude >= magnitude_max) return bucket_count - 1;
    const std::uint64_t sub = (ns >> (magnitude - sub_bits)) - sub_buckets;
    return (magnitude - sub_bits + 1) * sub_buckets + static_cast<std::size_t>(sub);
  }
  // The largest value that falls into the bucket.
  static std::uint64_t end_of_bucket(std::size_t bucket);

  std::array<std::uint64_t, bucket_count> buckets_{};
  std::uint64_t count_ = 0;
  std::uint64_t sum_ = 0;
  std::uint64_t max_ = 0;
  std::uint64_t min_ = UINT64_MAX;
};

}  // namespace braid::load
