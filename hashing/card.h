// A device that cuts and hashes batches: a CUDA card, or the host running the card's code.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "hashing/card_core.h"
#include "hashing/sliding_window.h"

namespace braid::hashing {

// How large a batch may be. Memory on the card is taken for this, once for each slot.
struct CardLimits {
  unsigned slots = 4;
  std::uint32_t slot_bytes = 8U << 20;  // of input, a multiple of 4096
  std::uint32_t streams_max = 2048;
  // A chunk is at least 4 KiB, or the last one of its stream.
  [[nodiscard]] std::uint32_t records_max() const { return slot_bytes / 4096 + 2 * streams_max; }
  [[nodiscard]] std::uint32_t tiles_max() const {
    return card::tiles_of(slot_bytes, records_max(), blake3::leaf_bytes);
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

// Belongs to its manager's thread. Slots are independent of each other and may finish in any order. All calls
// but name(), gather() and records() may wait for the card, and not return if that hangs.
class Card {
 public:
  virtual ~Card() = default;
  [[nodiscard]] virtual std::string name() const = 0;
  // Takes memory for the slots; after an error, or to try again after one, close() and open() follow each
  // other.
  virtual base::Result<void> open(const CardLimits& limits) = 0;
  // Waits for all work and gives everything back.
  virtual void close() = 0;
  // As close(), for a card that does not finish what it has: it does not wait for that, but ends it. Until it
  // returns, the card may still read what was loaded, if that is in memory that it uploads from; what it
  // reads is of no use any more.
  virtual void abandon() { close(); }
  // Takes what load() will upload. After it, only bytes in memory that the card uploads from are read where
  // they are.
  virtual void gather(unsigned slot, const CardWork& work) = 0;
  // Starts the upload of what was gathered last; returns at once.
  virtual base::Result<void> load(unsigned slot) = 0;
  // Starts all steps on what was loaded last, behind its upload; returns at once. May be repeated.
  virtual base::Result<void> run(unsigned slot) = 0;
  base::Result<void> start(unsigned slot, const CardWork& work) {
    gather(slot, work);
    if (auto loaded = load(slot); !loaded) return loaded;
    return run(slot);
  }
  // True: records() may be read. False: not yet. An error: the slot, and maybe the card, is lost.
  virtual base::Result<bool> finished(unsigned slot) = 0;
  // work.batch.record_count records; valid until the next start() on the slot.
  [[nodiscard]] virtual std::span<const card::Record> records(unsigned slot) = 0;

  // Until the card has done all that was started on the slot, an upload alone too: for measurements.
  virtual base::Result<void> wait(unsigned) { return {}; }
  // The papers' sliding window over the first stream that was loaded last, for measurements; returns at once.
  // EINVAL: parameters outside their limits.
  virtual base::Result<void> slide(unsigned slot, const SlidingWindow& window) = 0;
  // What slide() found, as sliding_cuts() returns it; waits for it.
  virtual base::Result<std::vector<std::uint64_t>> slide_cuts(unsigned slot) = 0;
};

// For implementations of Card: the step over the first `bytes` of a batch's input, with its marks where the
// loose candidates were, and the marks as positions.
card::Slide slide_of(const SlidingWindow& window, const card::Batch& batch, std::uint32_t bytes);
std::vector<std::uint64_t> cuts_of(std::span<const std::uint64_t> marks, std::uint32_t window);

}  // namespace braid::hashing
