#include "bench/load/histogram.h"

#include <algorithm>
#include <cmath>

namespace braid::load {

namespace {

base::Duration nanoseconds(std::uint64_t ns) { return base::Duration(static_cast<std::int64_t>(ns)); }

}  // namespace

void Histogram::merge(const Histogram& other) {
  for (std::size_t i = 0; i < bucket_count; ++i) buckets_[i] += other.buckets_[i];
  count_ += other.count_;
  sum_ += other.sum_;
  max_ = std::max(max_, other.max_);
  min_ = std::min(min_, other.min_);
}

base::Duration Histogram::mean() const { return nanoseconds(count_ == 0 ? 0 : sum_ / count_); }
base::Duration Histogram::min() const { return nanoseconds(count_ == 0 ? 0 : min_); }
base::Duration Histogram::max() const { return nanoseconds(max_); }

base::Duration Histogram::quantile(double fraction) const {
  if (count_ == 0) return {};
  const double wanted = std::ceil(std::clamp(fraction, 0.0, 1.0) * static_cast<double>(count_));
  const auto rank = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(wanted));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < bucket_count; ++i) {
    seen += buckets_[i];
    if (seen >= rank) return nanoseconds(i == bucket_count - 1 ? max_ : std::min(end_of_bucket(i), max_));
  }
  return max();
}

std::uint64_t Histogram::end_of_bucket(std::size_t bucket) {
  if (bucket < sub_buckets) return bucket;
  const auto shift = static_cast<unsigned>(bucket / sub_buckets - 1);
  const std::uint64_t sub = bucket % sub_buckets + sub_buckets;
  return ((sub + 1) << shift) - 1;
}

}  // namespace braid::load
