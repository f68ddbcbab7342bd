#include "hashing/host/host_card.h"

#include <algorithm>
#include <array>

#include "hashing/card_cut.h"
#include "hashing/card_tree.h"

namespace braid::hashing {

base::Result<void> HostCard::open(const CardLimits& limits) {
  slots_.resize(limits.slots);
  for (Slot& slot : slots_) {
    slot.input.resize(limits.slot_bytes + 2 * card::input_margin);
    const std::uint32_t words = card::words_of(limits.slot_bytes, card::run_positions);
    const std::uint32_t groups = card::words_of(limits.slot_bytes, card::group_positions);
    for (auto* bits : {&slot.loose, &slot.strict}) bits->resize(words);
    slot.heads.resize(groups);
    slot.records.resize(limits.records_max());
    slot.tiles.resize(limits.tiles_max());
    slot.values.resize(limits.tiles_max() * card::values_per_tile_max);
    slot.not_zero.resize(limits.tiles_max());
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
  slot.batch.heads = slot.heads.data();
  slot.batch.records = slot.records.data();
  slot.batch.tiles = slot.tiles.data();
  slot.batch.values = slot.values.data();
  slot.batch.not_zero = slot.not_zero.data();
}

base::Result<void> HostCard::run(unsigned index) {
  Slot& slot = slots_[index];
  const card::Batch& batch = slot.batch;
  const auto each = [&batch](std::uint32_t count, auto step) {
    for (std::uint32_t i = 0; i < count; ++i) step(batch, i);
  };
  if (batch.chunk_min != batch.chunk_max)
    each(card::words_of(batch.input_bytes, card::group_positions), card::candidates);
  std::array<std::uint32_t, card::HeadWindow::size> heads;
  each(batch.stream_count, [&](const card::Batch& b, std::uint32_t i) { card::select(b, i, heads.data()); });
  std::array<card::Node, card::tile_leaves> nodes;
  const bool is_md5 = batch.function == card::md5_tree_function;
  each(batch.tile_count, [&](const card::Batch& b, std::uint32_t i) {
    if (is_md5)
      card::hash_tile<card::md5_tree_function>(b, i, nodes.data());
    else
      card::hash_tile<card::blake3_function>(b, i, nodes.data());
  });
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
  for (std::uint32_t i = 0; i < card::words_of(work.bytes, card::group_positions); ++i) card::slide(work, i);
  slot.slide_window = window.window;
  return {};
}

base::Result<std::vector<std::uint64_t>> HostCard::slide_cuts(unsigned index) {
  const Slot& slot = slots_[index];
  const std::uint32_t words = card::words_of(slot.streams.at(0).bytes, card::run_positions);
  return cuts_of(std::span(slot.loose).first(words), slot.slide_window);
}

}  // namespace braid::hashing
