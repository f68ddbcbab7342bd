#include "store/verified.h"

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

bool Verified::has(const Table& table, std::uint64_t mark) {
  const std::size_t last = table.marks.size() - 1;
  for (std::size_t at = mark & last; table.marks[at] != 0; at = (at + 1) & last)
    if (table.marks[at] == mark) return true;
  return false;
}

void Verified::put(Table& table, std::uint64_t mark) {
  const std::size_t last = table.marks.size() - 1;
  std::size_t at = mark & last;
  while (table.marks[at] != 0) at = (at + 1) & last;
  table.marks[at] = mark;
}

bool Verified::has(std::span<const ChunkRef> chunks) {
  return state_.with([&](State& state) {
    auto found = state.tables.end();
    ++state.questions;
    for (const ChunkRef& chunk : chunks) {
      if (found == state.tables.end() || found->first != chunk.at.container) {
        found = state.tables.find(chunk.at.container);
        if (found == state.tables.end()) return false;
        found->second.asked = state.questions;
      }
      if (!has(found->second, mark_of(chunk))) return false;
    }
    return true;
  });
}

std::uint64_t Verified::begin() {
  return state_.with([](const State& state) { return state.forgotten; });
}

void Verified::grow(State& state, Table& table) {
  std::vector<std::uint64_t> former(std::max(table_places_min, table.marks.size() * 2));
  std::swap(former, table.marks);
  for (const std::uint64_t mark : former)
    if (mark != 0) put(table, mark);
  state.places += table.marks.size() - former.size();
}

void Verified::make_room(State& state, std::uint32_t keep) const {
  while (state.places * sizeof(std::uint64_t) > bytes_max_ && state.tables.size() > 1) {
    auto oldest = state.tables.end();
    for (auto table = state.tables.begin(); table != state.tables.end(); ++table)
      if (table->first != keep &&
          (oldest == state.tables.end() || table->second.asked < oldest->second.asked))
        oldest = table;
    state.places -= oldest->second.marks.size();
    state.tables.erase(oldest);
  }
}

void Verified::add(const ChunkRef& chunk, std::uint64_t begun) {
  state_.with([&](State& state) {
    if (state.forgotten != begun) return;
    Table& table = state.tables[chunk.at.container];
    table.asked = ++state.questions;
    const std::uint64_t mark = mark_of(chunk);
    if (table.used * 2 >= table.marks.size()) {
      grow(state, table);
      make_room(state, chunk.at.container);
    }
    if (has(table, mark)) return;
    put(table, mark);
    ++table.used;
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
  return state_.with([](const State& state) { return state.places * sizeof(std::uint64_t); });
}

}  // namespace braid::store
