#include "hashing/host_card.h"

#include <algorithm>

namespace braid::hashing {

base::Result<void> HostCard::open(const CardLimits& limits) {
  slots_.resize(limits.slots);
  for (Slot& slot : slots_) {
    slot.input.resize(limits.slot_bytes + 2 * card::input_margin);
    const std::uint32_t words = card::words_of(limits.slot_bytes, card::run_positions);
    const std::uint32_t summaries = card::words_of(limits.slot_bytes, card::summary_positions);
    for (auto* bits : {&slot.loose, &slot.strict}) bits->resize(words);
    for (auto* bits : {&slot.loose_summary, &slot.strict_summary}) bits->resize(summaries);
    slot.records.resize(limits.records_max());
    slot.leaves.resize(limits.leaves_max());
    slot.nodes.resize(limits.leaves_max());
  }
  return {};
}

base::Result<void> HostCard::start(unsigned index, const CardWork& work) {
  Slot& slot = slots_[index];
  for (const CardWork::Piece& piece : work.pieces)
    std::ranges::copy(piece.from, slot.input.begin() + card::input_margin + piece.to);
  card::Batch batch = work.batch;
  batch.input = reinterpret_cast<const unsigned char*>(slot.input.data()) + card::input_margin;
  batch.tables = &work.tables;
  batch.streams = work.streams.data();
  batch.loose = slot.loose.data();
  batch.strict = slot.strict.data();
  batch.loose_summary = slot.loose_summary.data();
  batch.strict_summary = slot.strict_summary.data();
  batch.records = slot.records.data();
  batch.leaves = slot.leaves.data();
  batch.nodes = slot.nodes.data();
  slot.record_count = batch.record_count;
  std::fill_n(slot.records.begin(), batch.record_count, card::Record{});
  std::fill_n(slot.leaves.begin(), batch.leaf_count, card::Leaf{});
  const auto each = [&batch](std::uint32_t count, auto step) {
    for (std::uint32_t i = 0; i < count; ++i) step(batch, i);
  };
  if (batch.chunk_min != batch.chunk_max) {
    each(card::words_of(batch.input_bytes, card::run_positions), card::candidates);
    each(card::words_of(batch.input_bytes, card::summary_positions), card::summarise);
  }
  each(batch.stream_count, card::select);
  each(batch.record_count, card::describe);
  each(batch.leaf_count, card::hash_leaf);
  for (std::uint32_t level = 0; level < batch.levels; ++level)
    for (std::uint32_t i = 0; i < batch.leaf_count; ++i) card::join(batch, level, i);
  each(batch.record_count, card::finish);
  return {};
}

std::span<const card::Record> HostCard::records(unsigned slot) {
  return std::span<const card::Record>(slots_[slot].records).first(slots_[slot].record_count);
}

}  // namespace braid::hashing
