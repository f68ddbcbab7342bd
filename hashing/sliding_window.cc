#include "hashing/sliding_window.h"

namespace braid::hashing {

base::Result<std::vector<std::uint64_t>> sliding_cuts(const SlidingWindow& parameters, base::BytesView data) {
  const auto& [window, step, zero_bits] = parameters;
  if (window < 1 || window > md5::one_block_max || step < 1 || zero_bits < 1 || zero_bits > 32)
    return base::fail(EINVAL);
  const auto mask = static_cast<std::uint32_t>((std::uint64_t{1} << zero_bits) - 1);
  std::vector<std::uint64_t> cuts;
  for (std::size_t begin = 0; begin + window <= data.size(); begin += step)
    if ((md5::first_word(reinterpret_cast<const unsigned char*>(data.data()) + begin, window) & mask) == 0)
      cuts.push_back(begin + window);
  return cuts;
}

}  // namespace braid::hashing
