// The one property of hashing/ that everything rests on: however a stream is cut up, and whoever works on it,
// its chunks are the same. Checked on random streams, a few for a test, 100 GB for braid-hashing-property.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hashing/card.h"

namespace braid::hashing::test {

struct PropertyOptions {
  std::uint64_t seed = 1;
  std::uint64_t bytes = 0;  // of all streams together, at least
  std::size_t stream_bytes_max = 32 << 20;
  unsigned workers = 2;  // of the engine
  unsigned slow_one_in =
      8;  // streams that the card's code on the host and the portable one in pieces cut too
  std::vector<std::unique_ptr<Card>> cards{};  // that the engine is to use
  std::function<void(std::uint64_t bytes)> progress = [](std::uint64_t) {};
};

struct PropertyCounts {
  std::uint64_t streams = 0, bytes = 0, chunks = 0, jobs = 0;
  std::uint64_t parts_worker = 0, parts_card = 0;  // of the engine
};

// Each stream is cut and hashed by the portable code in one piece. The same chunks must come from the other
// instruction sets for a random split into jobs and spans, and from the engine; of some streams from the
// portable code for such a split and from the card's code on the host too. Returns what differs first.
std::optional<std::string> find_difference(PropertyOptions options, PropertyCounts& counts);

}  // namespace braid::hashing::test
