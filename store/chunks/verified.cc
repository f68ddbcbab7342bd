#include "store/chunks/verified.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace braid::store {
namespace {

constexpr std::size_t table_places_min = 64;

}  // namespace

// An id is as good as random, so 64 bits of it tell whether a place has another chunk than is wanted: that
// happens where a location is wrong, and then goes unnoticed once in 2^64.
std::uint64_t Verified::mark_of(const ChunkRef& chunk) {
  std::uint64_t id = 0;
  std::memcpy(&id, chunk.id.bytes.data(), sizeof id);
  const std::uint64_t place = std::uint64_t{chunk.at.offset} << 32U | chunk.bytes;
  constexpr std::uint64_t odd = 0x9e3779b97f4a7c15U;
  return std::max<std::uint64_t>(id ^ (place * odd), 1);
}

std::size_t Verified::place_of(const Table& table, std::uint64_t mark) {
  const std::size_t last = table.marks.size() - 1;
  std::size_t at = mark & last;
  while (table.marks[at] != 0 && table.marks[at] != mark) at = (at + 1) & last;
  return at;
}

bool Verified::find(std::span<VerifiedChunk> chunks) {
  return state_.with([&](State& state) {
    auto found = state.tables.end();
    ++state.questions;
    for (VerifiedChunk& chunk : chunks) {
      if (found == state.tables.end() || found->first != chunk.lies.at.container) {
        found = state.tables.find(chunk.lies.at.container);
        if (found == state.tables.end()) return false;
        found->second.asked = state.questions;
      }
      const std::size_t place = place_of(found->second, mark_of(chunk.lies));
      if (found->second.marks[place] == 0) return false;
      chunk.distance = found->second.distances[place];
    }
    return true;
  });
}

std::uint64_t Verified::begin() {
  return state_.with([](const State& state) { return state.forgotten; });
}

void Verified::grow(State& state, Table& table) {
  Table larger{.used = table.used, .asked = table.asked};
  larger.marks.resize(std::max(table_places_min, table.marks.size() * 2));
  larger.distances.resize(larger.marks.size());
  for (std::size_t i = 0; i < table.marks.size(); ++i) {
    if (table.marks[i] == 0) continue;
    const std::size_t place = place_of(larger, table.marks[i]);
    larger.marks[place] = table.marks[i];
    larger.distances[place] = table.distances[i];
  }
  state.places += larger.marks.size() - table.marks.size();
  table = std::move(larger);
}

void Verified::make_room(State& state, std::uint32_t keep) const {
  while (state.places * place_bytes > bytes_max_ && state.tables.size() > 1) {
    auto oldest = state.tables.end();
    for (auto table = state.tables.begin(); table != state.tables.end(); ++table)
      if (table->first != keep &&
          (oldest == state.tables.end() || table->second.asked < oldest->second.asked))
        oldest = table;
    state.places -= oldest->second.marks.size();
    state.tables.erase(oldest);
  }
}

void Verified::add(const VerifiedChunk& chunk, std::uint64_t begun) {
  state_.with([&](State& state) {
    if (state.forgotten != begun) return;
    const std::uint32_t container = chunk.lies.at.container;
    Table& table = state.tables[container];
    table.asked = ++state.questions;
    if (table.used * 2 >= table.marks.size()) {
      grow(state, table);
      make_room(state, container);
    }
    const std::uint64_t mark = mark_of(chunk.lies);
    const std::size_t place = place_of(table, mark);
    if (table.marks[place] == 0) ++table.used;
    table.marks[place] = mark;
    table.distances[place] = chunk.distance;
  });
}

void Verified::forget(std::uint32_t container) {
  state_.with([container](State& state) {
    ++state.forgotten;
    const auto found = state.tables.find(container);
    if (found == state.tables.end()) return;
    state.places -= found->second.marks.size();
    state.tables.erase(found);
  });
}

std::size_t Verified::bytes() {
  return state_.with([](const State& state) { return state.places * place_bytes; });
}

}  // namespace braid::store
