#include "hashing/batch_cost.h"

#include <algorithm>

namespace braid::hashing {
namespace {

constexpr double kept = 0.9;  // of the weight of earlier batches
// Batches tell the two times apart if their sizes differ by so much of their mean (a standard deviation).
constexpr double spread_min = 0.25;
// Nor does one batch change what was expected at once: its thread may have been kept from running.
constexpr double surprise_max = 4;
constexpr double trusted_weight = 4;  // of some five batches; before, all is believed
// A byte takes some time, whatever the measurements say.
constexpr double ns_per_byte_min = 1e-4;

}  // namespace

base::Duration BatchCost::of(std::uint64_t bytes) const {
  return base::Duration(
      static_cast<base::Duration::rep>(fixed_ns_ + static_cast<double>(bytes) * ns_per_byte_));
}

base::Duration BatchCost::fixed() const {
  return base::Duration(static_cast<base::Duration::rep>(fixed_ns_));
}

void BatchCost::learn(std::uint64_t bytes, base::Duration took) {
  const auto size = static_cast<double>(bytes);
  const double expected = fixed_ns_ + size * ns_per_byte_;
  const auto measured = static_cast<double>(std::max(took, base::Duration::zero()).count());
  const double ns = weight_ > trusted_weight ? std::min(measured, surprise_max * expected) : measured;
  weight_ = kept * weight_ + 1;
  bytes_ = kept * bytes_ + size;
  ns_ = kept * ns_ + ns;
  bytes_bytes_ = kept * bytes_bytes_ + size * size;
  bytes_ns_ = kept * bytes_ns_ + size * ns;
  const double mean_bytes = bytes_ / weight_, mean_ns = ns_ / weight_;
  if (mean_bytes <= 0) return;
  const double variance = bytes_bytes_ / weight_ - mean_bytes * mean_bytes;
  const double spread = spread_min * mean_bytes;
  if (variance >= spread * spread) {
    const double covariance = bytes_ns_ / weight_ - mean_bytes * mean_ns;
    fixed_ns_ = mean_ns - covariance / variance * mean_bytes;
  }
  // Batches of nearly one size leave open which part is the fixed one: it is what it was, and not more than
  // half.
  const double fixed_max = variance >= spread * spread ? mean_ns : mean_ns / 2;
  fixed_ns_ = std::clamp(fixed_ns_, 0.0, fixed_max);
  ns_per_byte_ = std::max((mean_ns - fixed_ns_) / mean_bytes, ns_per_byte_min);
}

}  // namespace braid::hashing
