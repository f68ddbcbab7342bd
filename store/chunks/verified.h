// Which chunks were found to be what their ids say since the store was opened. Their bytes are taken from
// where they lie from then on, as the kernel has them; nobody names them again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/guarded.h"
#include "store/chunks/container_format.h"
#include "store/chunks/node.h"

namespace braid::store {

// A chunk, and the place that it lies at: not one that leads on to it.
struct VerifiedChunk {
  ChunkRef lies{};
  std::uint32_t distance = 0;  // GroupPlace::distance of its header
};

// Chunks of data. Twelve bytes for a chunk, and as much again for room; when there is no more, what is known
// of the container that was asked about the longest ago goes. Thread-safe.
class Verified {
 public:
  static constexpr std::size_t bytes_max_usual = 32 * base::MiB;
  explicit Verified(std::size_t bytes_max = bytes_max_usual) : bytes_max_(bytes_max) {}

  // Whether all are known to be so. Then it tells the distance of each.
  [[nodiscard]] bool find(std::span<VerifiedChunk> chunks);
  // Before a chunk is read that is to be verified, and after it was: what was forgotten in between, whatever
  // container that was about, is not known by it again.
  [[nodiscard]] std::uint64_t begin();
  void add(const VerifiedChunk& chunk, std::uint64_t begun);
  // Of a container that is gone, or was found to be damaged.
  void forget(std::uint32_t container);
  // Of memory.
  [[nodiscard]] std::size_t bytes();

 private:
  // Open addressing; 0 is a place without a chunk.
  struct Table {
    std::vector<std::uint64_t> marks{};
    std::vector<std::uint32_t> distances{};  // of the chunks with these marks
    std::size_t used = 0;
    std::uint64_t asked = 0;  // when, as State::questions counts
  };
  struct State {
    std::unordered_map<std::uint32_t, Table> tables{};  // by container
    std::size_t places = 0;                             // of all tables
    std::uint64_t questions = 0;
    std::uint64_t forgotten = 0;  // times
  };
  static constexpr std::size_t place_bytes = sizeof(std::uint64_t) + sizeof(std::uint32_t);
  static std::uint64_t mark_of(const ChunkRef& chunk);
  // Its place in the table, or the one that it would have.
  static std::size_t place_of(const Table& table, std::uint64_t mark);
  static void grow(State& state, Table& table);
  void make_room(State& state, std::uint32_t keep) const;

  const std::size_t bytes_max_;
  base::Guarded<State> state_;
};

}  // namespace braid::store
