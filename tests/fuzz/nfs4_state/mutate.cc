// How inputs change: by whole steps more than by bytes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>

#include "tests/fuzz/nfs4_state/script.h"

extern "C" {
std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);
std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                    unsigned seed);
std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* first, std::size_t first_size,
                                      const std::uint8_t* second, std::size_t second_size, std::uint8_t* out,
                                      std::size_t max_size, unsigned seed);
}

namespace {

using braid::nfs4::fuzz::events_from;
using braid::nfs4::fuzz::operations_from;
using braid::nfs4::fuzz::step_bytes;

using Random = std::minstd_rand;
std::size_t below(Random& random, std::size_t end) {
  return std::uniform_int_distribution<std::size_t>(0, end - 1)(random);
}

void fill(std::uint8_t* step, Random& random) {
  for (std::size_t i = 0; i < step_bytes; ++i) step[i] = static_cast<std::uint8_t>(below(random, 256));
  // Most operations are about what was given last, and most messages are nothing special.
  if (step[0] < operations_from && below(random, 4) != 0) step[5] &= 1U;
  if (step[0] >= operations_from && step[0] < events_from && below(random, 4) != 0) step[1] %= 16;
}

void insert(std::uint8_t* data, std::size_t steps, std::size_t at) {
  std::memmove(data + (at + 1) * step_bytes, data + at * step_bytes, (steps - at) * step_bytes);
}

}  // namespace

std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                    unsigned seed) {
  Random random(seed);
  std::size_t steps = size / step_bytes;
  const std::size_t steps_max = max_size / step_bytes;
  if (steps_max == 0) return size;
  const std::size_t times = 1 + below(random, 4);
  for (std::size_t i = 0; i < times; ++i) {
    const std::size_t what = steps == 0 ? 0 : below(random, 8);
    if (what <= 1 && steps < steps_max) {  // a new one
      const std::size_t at = below(random, steps + 1);
      insert(data, steps++, at);
      fill(data + at * step_bytes, random);
    } else if (what == 2 && steps > 1) {  // one less
      const std::size_t at = below(random, steps);
      std::memmove(data + at * step_bytes, data + (at + 1) * step_bytes, (steps - at - 1) * step_bytes);
      --steps;
    } else if (what == 3 && steps > 1) {  // two change places
      const std::size_t one = below(random, steps), other = below(random, steps);
      std::swap_ranges(data + one * step_bytes, data + (one + 1) * step_bytes, data + other * step_bytes);
    } else if (what == 4 && steps < steps_max) {  // once more, elsewhere
      std::uint8_t copy[step_bytes];
      std::memcpy(copy, data + below(random, steps) * step_bytes, step_bytes);
      const std::size_t at = below(random, steps + 1);
      insert(data, steps++, at);
      std::memcpy(data + at * step_bytes, copy, step_bytes);
    } else if (steps > 0) {  // another byte
      std::uint8_t* const step = data + below(random, steps) * step_bytes;
      const std::size_t at = below(random, step_bytes);
      if (what == 5)
        step[at] ^= static_cast<std::uint8_t>(1U << below(random, 8));
      else
        LLVMFuzzerMutate(step + at, 1, 1);
    }
  }
  return steps * step_bytes;
}

// The beginning of one, and the end of the other.
std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* first, std::size_t first_size,
                                      const std::uint8_t* second, std::size_t second_size, std::uint8_t* out,
                                      std::size_t max_size, unsigned seed) {
  Random random(seed);
  const std::size_t head = below(random, first_size / step_bytes + 1);
  const std::size_t skipped = below(random, second_size / step_bytes + 1);
  const std::size_t tail = std::min(second_size / step_bytes - skipped,
                                    max_size / step_bytes - std::min(head, max_size / step_bytes));
  const std::size_t kept = std::min(head, max_size / step_bytes);
  std::memcpy(out, first, kept * step_bytes);
  std::memcpy(out + kept * step_bytes, second + skipped * step_bytes, tail * step_bytes);
  return (kept + tail) * step_bytes;
}
