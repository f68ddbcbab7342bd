// What a card is expected to take for a batch, by what it took for those before.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace braid::hashing {

// A time for each batch and a time for each byte. Begins with guesses, which the first batches replace; each
// batch counts a tenth less with every one after it, and none but the first few for more than four times what
// was expected. Not synchronised.
class BatchCost {
 public:
  [[nodiscard]] base::Duration of(std::uint64_t bytes) const;
  void learn(std::uint64_t bytes, base::Duration took);
  [[nodiscard]] base::Duration fixed() const;
  [[nodiscard]] double bytes_per_ns() const { return 1 / ns_per_byte_; }

 private:
  double fixed_ns_ = 40'000, ns_per_byte_ = 1 / 40.0;
  // Sums over the batches, by their weights: of these, of bytes and times, and of products for a straight
  // line through all of them.
  double weight_ = 0, bytes_ = 0, ns_ = 0, bytes_bytes_ = 0, bytes_ns_ = 0;
};

}  // namespace braid::hashing
