// A device that cuts and hashes batches: a CUDA card, or the host running the card's code.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "hashing/card_core.h"

namespace braid::hashing {

// How large a batch may be. Memory on the card is taken for this, once for each slot.
struct CardLimits {
  unsigned slots = 4;
  std::uint32_t slot_bytes = 8U << 20;  // of input, a multiple of 4096
  std::uint32_t streams_max = 2048;
  // A chunk is at least 4 KiB, or the last one of its stream.
  [[nodiscard]] std::uint32_t records_max() const { return slot_bytes / 4096 + 2 * streams_max; }
  [[nodiscard]] std::uint32_t leaves_max() const {
    return slot_bytes / blake3::leaf_bytes + records_max() + streams_max;
  }
};

// What is uploaded and computed for one slot. The views stay valid until the slot is finished or abandoned.
struct CardWork {
  struct Piece {
    base::BytesView from;
    std::uint32_t to = 0;  // in the input
  };
  std::vector<Piece> pieces;
  std::vector<card::Stream> streams;
  card::Tables tables{};
  card::Batch batch{};  // without the pointers, which the card fills in
};

// Belongs to its manager's thread after open(); pinning may come from any thread. Slots are independent of
// each other and may finish in any order.
class Card {
 public:
  virtual ~Card() = default;
  [[nodiscard]] virtual std::string name() const = 0;
  // Takes memory for the slots; after an error, or to try again after one, close() and open() follow each
  // other.
  virtual base::Result<void> open(const CardLimits& limits) = 0;
  // Stops all work and gives everything back.
  virtual void close() = 0;
  // Starts the upload and all steps; returns at once.
  virtual base::Result<void> start(unsigned slot, const CardWork& work) = 0;
  // True: records() may be read. False: not yet. An error: the slot, and maybe the card, is lost.
  virtual base::Result<bool> finished(unsigned slot) = 0;
  // work.batch.record_count records; valid until the next start() on the slot.
  [[nodiscard]] virtual std::span<const card::Record> records(unsigned slot) = 0;
};

}  // namespace braid::hashing
