// What the engine expects of its cores and cards, from what they did.
#pragma once

#include <algorithm>

namespace braid::hashing {

// Starts with a guess. The first measurements are averaged with equal weights, and the guess is forgotten
// with the first one; then each counts a tenth.
class MovingAverage {
 public:
  explicit MovingAverage(double guess) : value_(guess) {}
  [[nodiscard]] double value() const { return value_; }
  void add(double measured) {
    constexpr unsigned count_max = 10;
    count_ = std::min(count_ + 1, count_max);
    value_ += (measured - value_) / count_;
  }

 private:
  double value_;
  unsigned count_ = 0;
};

}  // namespace braid::hashing
