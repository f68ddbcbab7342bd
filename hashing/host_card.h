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
  base::Result<void> start(unsigned slot, const CardWork& work) override;
  base::Result<bool> finished(unsigned) override { return true; }
  [[nodiscard]] std::span<const card::Record> records(unsigned slot) override;

 private:
  struct Slot {
    base::Bytes input;
    std::vector<std::uint64_t> loose, strict, loose_summary, strict_summary;
    std::vector<card::Record> records;
    std::vector<card::Leaf> leaves;
    std::vector<card::Node> nodes;
    std::uint32_t record_count = 0;
  };
  std::vector<Slot> slots_;
};

}  // namespace braid::hashing
