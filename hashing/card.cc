#include "hashing/card.h"

#include <bit>

namespace braid::hashing {

card::Slide slide_of(const SlidingWindow& window, const card::Batch& batch, std::uint32_t bytes) {
  return {batch.input, bytes, window.window, window.step, mask_of(window), batch.loose};
}

std::vector<std::uint64_t> cuts_of(std::span<const std::uint64_t> marks, std::uint32_t window) {
  std::vector<std::uint64_t> cuts;
  for (std::size_t i = 0; i < marks.size(); ++i)
    for (std::uint64_t bits = marks[i]; bits != 0; bits &= bits - 1)
      cuts.push_back(i * card::run_positions + static_cast<unsigned>(std::countr_zero(bits)) + window);
  return cuts;
}

}  // namespace braid::hashing
