#include "hashing/host/host_card.h"

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

void HostCard::gather(unsigned index, const CardWork& work) {
  Slot& slot = slots_[index];
  for (const CardWork::Piece& piece : work.pieces)
    std::ranges::copy(piece.from, slot.input.begin() + card::input_margin + piece.to);
  slot.tables = work.tables;
  slot.streams = work.streams;
  slot.batch = work.batch;
  slot.batch.input = reinterpret_cast<const unsigned char*>(slot.input.data()) + card::input_margin;
  slot.batch.tables = &slot.tables;
  slot.batch.streams = slot.streams.data();
  slot.batch.loose = slot.loose.data();
  slot.batch.strict = slot.strict.data();
  slot.batch.loose_summary = slot.loose_summary.data();
  slot.batch.strict_summary = slot.strict_summary.data();
  slot.batch.records = slot.records.data();
  slot.batch.leaves = slot.leaves.data();
  slot.batch.nodes = slot.nodes.data();
}

base::Result<void> HostCard::run(unsigned index) {
  Slot& slot = slots_[index];
  const card::Batch& batch = slot.batch;
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
  each(batch.leaf_count, batch.function == card::md5_tree_function ? card::hash_leaf<card::md5_tree_function>
                                                                   : card::hash_leaf<card::blake3_function>);
  for (std::uint32_t level = 0; level < batch.levels; ++level)
    for (std::uint32_t i = 0; i < batch.leaf_count; ++i) card::join(batch, level, i);
  each(batch.record_count, card::finish);
  return {};
}

std::span<const card::Record> HostCard::records(unsigned slot) {
  return std::span<const card::Record>(slots_[slot].records).first(slots_[slot].batch.record_count);
}

base::Result<void> HostCard::slide(unsigned index, const SlidingWindow& window) {
  if (auto checked = check(window); !checked) return checked;
  Slot& slot = slots_[index];
  const card::Slide work = slide_of(window, slot.batch, slot.streams.at(0).bytes);
  for (std::uint32_t i = 0; i < card::words_of(work.bytes, card::run_positions); ++i) card::slide(work, i);
  slot.slide_window = window.window;
  return {};
}

base::Result<std::vector<std::uint64_t>> HostCard::slide_cuts(unsigned index) {
  const Slot& slot = slots_[index];
  const std::uint32_t words = card::words_of(slot.streams.at(0).bytes, card::run_positions);
  return cuts_of(std::span(slot.loose).first(words), slot.slide_window);
}

}  // namespace braid::hashing
