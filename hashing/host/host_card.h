// The card's code run by the host: the reference for tests of everything around a card, and of the code
// itself.
#pragma once

#include <memory>

#include "hashing/card.h"

namespace braid::hashing {

class HostCard final : public Card {
 public:
  [[nodiscard]] std::string name() const override { return "host"; }
  base::Result<void> open(const CardLimits& limits) override;
  void close() override { slots_.clear(); }
  void gather(unsigned slot, const CardWork& work) override;
  base::Result<void> load(unsigned) override { return {}; }
  base::Result<void> run(unsigned slot) override;
  base::Result<bool> finished(unsigned) override { return true; }
  [[nodiscard]] std::span<const card::Record> records(unsigned slot) override;
  base::Result<void> slide(unsigned slot, const SlidingWindow& window) override;
  base::Result<std::vector<std::uint64_t>> slide_cuts(unsigned slot) override;

 private:
  struct Slot {
    base::Bytes input;
    std::vector<std::uint64_t> loose, strict;
    std::vector<card::Record> records;
    std::vector<card::Tile> tiles;
    std::vector<std::uint32_t> heads, values, not_zero;
    card::Tables tables{};
    std::vector<card::Stream> streams;
    card::Batch batch{};
    std::uint32_t slide_window = 0;
  };
  std::vector<Slot> slots_;
};

}  // namespace braid::hashing
