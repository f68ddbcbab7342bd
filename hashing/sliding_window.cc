#include "hashing/sliding_window.h"

namespace braid::hashing {

base::Result<void> check(const SlidingWindow& parameters) {
  const auto& [window, step, zero_bits] = parameters;
  if (window < 1 || window > md5::one_block_max || step < 1 || zero_bits < 1 || zero_bits > 32)
    return base::fail(EINVAL);
  return {};
}

base::Result<std::vector<std::uint64_t>> sliding_cuts(const SlidingWindow& parameters, base::BytesView data) {
  if (auto checked = check(parameters); !checked) return base::fail(checked.error());
  const auto* bytes = reinterpret_cast<const unsigned char*>(data.data());
  std::vector<std::uint64_t> cuts;
  for (std::size_t begin = 0; begin + parameters.window <= data.size(); begin += parameters.step)
    if ((md5::first_word(bytes + begin, parameters.window) & mask_of(parameters)) == 0)
      cuts.push_back(begin + parameters.window);
  return cuts;
}

}  // namespace braid::hashing
