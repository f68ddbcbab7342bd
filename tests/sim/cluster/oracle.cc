#include "tests/sim/cluster/oracle.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace braid::sim::cluster {
namespace {

// How long a call may have effects after its client has given it up: what is under way on a connection that
// broke, and what a server still does about it.
constexpr base::Duration afterlife = std::chrono::seconds(40);

bool covers(const Write& write, std::uint32_t cell) {
  return std::ranges::find(write.what.cells, cell) != write.what.cells.end();
}

bool covers(const Punch& punch, std::uint32_t cell) { return punch.first <= cell && cell <= punch.last; }

std::uint64_t last_end(const Write& write) {
  std::uint64_t end = write.what.room_end;
  for (const std::uint32_t cell : write.what.cells) end = std::max(end, end_of(cell));
  return end;
}

}  // namespace

void Oracle::violation(std::string_view checker, std::uint32_t client, std::optional<FileNumber> file,
                       std::string text) {
  if (found_) return;
  trace_.add(client, file, "VIOLATION {}: {}", checker, text);
  found_ = Violation{std::string(checker), client, file, std::move(text)};
}

FileNumber Oracle::file_of(const std::string& handle) {
  return numbers_.try_emplace(handle, static_cast<FileNumber>(numbers_.size())).first->second;
}

Write& Oracle::write_begins(WriteIntent what) {
  Write& write = files_[what.file].writes.emplace_back();
  write.tag = ++tags_;
  write.what = std::move(what);
  write.span.begun = scheduler_.now();
  return write;
}

void Oracle::write_answered(Write& write, bool ok, bool stable, bool trusted, bool sent_once) {
  write.ok = ok;
  write.stable = ok && stable;
  write.trusted = ok && trusted;
  write.refused = !ok && sent_once && write.what.by_layout;
  if (ok || write.refused)
    write.span.ended = scheduler_.now();
  else
    write_abandoned(write);
  if (!ok || !write.what.by_layout) return;
  for (const Cut& cut : files_[write.what.file].cuts)
    if (fenced(write, cut, write.span.begun))
      violation("write_after_fence", write.what.client, write.what.file,
                fmt::format("write {} was taken with a handle from before a truncation to {} bytes that had "
                            "been answered",
                            write.tag, cut.size));
}

void Oracle::write_abandoned(Write& write) { write.span.ended = scheduler_.now() + afterlife; }

void Oracle::committed(FileNumber file, std::optional<std::uint32_t> server, base::TimePoint sent,
                       const std::array<std::byte, cell_bytes>& verifier) {
  for (Write& write : files_[file].writes) {
    const bool same_way =
        server ? write.what.by_layout && write.what.server == *server : !write.what.by_layout;
    if (same_way && write.ok && write.span.ended <= sent && write.verifier == verifier) write.stable = true;
  }
}

Cut& Oracle::cut_begins(std::uint32_t client, FileNumber file, std::uint64_t size) {
  Cut& cut = files_[file].cuts.emplace_back();
  cut.client = client;
  cut.size = size;
  cut.span.begun = scheduler_.now();
  return cut;
}

void Oracle::cut_answered(Cut& cut, bool ok) {
  cut.ok = ok;
  if (ok)
    cut.span.ended = scheduler_.now();
  else
    cut_abandoned(cut);
}

void Oracle::cut_abandoned(Cut& cut) { cut.span.ended = scheduler_.now() + afterlife; }

Punch& Oracle::punch_begins(FileNumber file, std::uint32_t first, std::uint32_t last) {
  Punch& punch = files_[file].punches.emplace_back();
  punch.first = first;
  punch.last = last;
  punch.span.begun = scheduler_.now();
  return punch;
}

void Oracle::punch_answered(Punch& punch, bool ok) {
  punch.ok = ok;
  punch.span.ended = ok ? scheduler_.now() : scheduler_.now() + afterlife;
}

bool Oracle::died_since(base::TimePoint then) const {
  return std::ranges::any_of(deaths_, [&](const Death& death) { return death.when >= then; });
}

bool Oracle::certain(const Write& write, base::TimePoint from) const {
  if (!write.ok || !write.trusted || write.span.ended >= from) return false;
  if (write.stable) return true;
  return std::ranges::none_of(deaths_, [&](const Death& death) {
    const bool concerned = !write.what.by_layout || death.server == write.what.server;
    return concerned && death.when >= write.span.begun;
  });
}

// A client's own truncation takes no layout from it, but for those that it had given up before.
bool Oracle::fenced(const Write& write, const Cut& cut, base::TimePoint by) {
  const bool ends = cut.client != write.what.client || write.what.given_up < cut.span.begun;
  return write.what.by_layout && ends && cut.ok && cut.span.ended < by &&
         write.what.granted <= cut.span.begun;
}

bool Oracle::keeps_layout(std::uint32_t client, FileNumber number, const Span& granted) const {
  const auto found = files_.find(number);
  if (found == files_.end()) return true;
  const auto ends = [&](const Cut& cut) {
    const bool before = cut.span.ended < granted.begun;
    const bool own_after = cut.client == client && cut.span.begun > granted.ended;
    return !before && !own_after;
  };
  const auto doubts = [&](const Write& write) {
    return !write.what.by_layout && !write.what.cells.empty() && write.span.ended >= granted.begun;
  };
  return std::ranges::none_of(found->second.cuts, ends) && std::ranges::none_of(found->second.writes, doubts);
}

// A truncation that has surely taken these bytes away.
const Cut* Oracle::cut_off(const File& file, const Write& write, std::uint64_t end, base::TimePoint by) {
  for (const Cut& cut : file.cuts) {
    if (!cut.ok || cut.span.ended >= by || cut.size >= end) continue;
    if (write.span.ended < cut.span.begun || fenced(write, cut, by)) return &cut;
  }
  return nullptr;
}

// --- Bytes.

void Oracle::cell_read(std::uint32_t client, FileNumber number, std::uint32_t cell, base::TimePoint sent,
                       std::uint64_t tag) {
  if (tag == 0) return zeros_read(client, number, cell, sent);
  const File& file = files_[number];
  const auto found = std::ranges::find_if(
      file.writes, [&](const Write& write) { return write.tag == tag && covers(write, cell); });
  if (found != file.writes.end()) return tag_read(client, number, cell, sent, *found);
  violation("foreign_bytes", client, number, fmt::format("cell {} has bytes that nobody wrote there", cell));
}

void Oracle::tag_read(std::uint32_t client, FileNumber number, std::uint32_t cell, base::TimePoint sent,
                      const Write& write) {
  const File& file = files_[number];
  if (const Cut* const cut = cut_off(file, write, end_of(cell), sent))
    return violation("write_after_fence", client, number,
                     fmt::format("cell {} has the bytes of write {} from before a truncation to {} bytes",
                                 cell, write.tag, cut->size));
  for (const Punch& punch : file.punches)
    if (covers(punch, cell) && punch.ok && punch.span.begun > write.span.ended && punch.span.ended < sent &&
        !died_since(punch.span.begun))
      return violation(
          "hole_has_bytes", client, number,
          fmt::format("cell {} has the bytes of write {} from before a DEALLOCATE of it", cell, write.tag));
  for (const Write& later : file.writes)
    if (covers(later, cell) && later.span.begun > write.span.ended && certain(later, sent))
      return violation("lost_stable_byte", client, number,
                       fmt::format("cell {} has the bytes of write {}, and not those of write {}, which "
                                   "came later",
                                   cell, write.tag, later.tag));
}

void Oracle::zeros_read(std::uint32_t client, FileNumber number, std::uint32_t cell, base::TimePoint sent) {
  const File& file = files_[number];
  for (const Write& write : file.writes) {
    if (!covers(write, cell) || !certain(write, sent)) continue;
    const bool cut = std::ranges::any_of(file.cuts, [&](const Cut& one) {
      return one.size < end_of(cell) && one.span.ended >= write.span.begun;
    });
    const bool hole = std::ranges::any_of(file.punches, [&](const Punch& one) {
      return covers(one, cell) && one.span.ended >= write.span.begun;
    });
    if (cut || hole) continue;
    return violation("lost_stable_byte", client, number,
                     fmt::format("cell {} is empty, and write {} is {}", cell, write.tag,
                                 write.stable ? "stable" : "there"));
  }
}

bool Oracle::calm(FileNumber number, base::TimePoint since) const {
  const auto found = files_.find(number);
  if (found == files_.end()) return true;
  const auto over = [&](const auto& one) { return one.span.ended < since; };
  return std::ranges::all_of(found->second.writes, over) && std::ranges::all_of(found->second.cuts, over) &&
         std::ranges::all_of(found->second.punches, over) && !died_since(since);
}

// --- Sizes.

std::uint64_t Oracle::size_min(FileNumber number, base::TimePoint sent) const {
  const auto found = files_.find(number);
  if (found == files_.end()) return 0;
  const File& file = found->second;
  std::uint64_t least = 0;
  const auto stays = [&](std::uint64_t size, base::TimePoint begun, const Cut* itself) {
    return std::ranges::none_of(file.cuts, [&](const Cut& cut) {
      return &cut != itself && cut.size < size && cut.span.ended >= begun;
    });
  };
  for (const Write& write : file.writes)
    if (last_end(write) > least && certain(write, sent) && stays(last_end(write), write.span.begun, nullptr))
      least = last_end(write);
  for (const Cut& cut : file.cuts)
    if (cut.ok && cut.span.ended < sent && cut.size > least && stays(cut.size, cut.span.begun, &cut))
      least = cut.size;
  return least;
}

std::uint64_t Oracle::size_max(const File& file, base::TimePoint sent) const {
  std::uint64_t most = 0;
  for (const Write& write : file.writes) {
    // Of bytes that are not stable some may have gone, but the size stays.
    if (cut_off(file, write, last_end(write), sent) == nullptr) most = std::max(most, last_end(write));
  }
  for (const Cut& cut : file.cuts) {
    const bool superseded = std::ranges::any_of(file.cuts, [&](const Cut& later) {
      return later.ok && later.span.ended < sent && later.span.begun > cut.span.ended;
    });
    if (!superseded) most = std::max(most, cut.size);
  }
  return most;
}

void Oracle::size_seen(std::uint32_t client, FileNumber number, base::TimePoint sent, std::uint64_t size) {
  File& file = files_[number];
  const std::uint64_t least = size_min(number, sent);
  const std::uint64_t most = size_max(file, sent);
  if (size < least)
    return violation("wrong_size", client, number,
                     fmt::format("the size is {}, and there are {} bytes for sure", size, least));
  if (size > most)
    return violation("wrong_size", client, number,
                     fmt::format("the size is {}, and nobody has written behind {}", size, most));
  const bool maybe_cut =
      std::ranges::any_of(file.cuts, [&](const Cut& cut) { return cut.span.ended >= file.told.begun; });
  if (size < file.size_told && sent > file.told.ended && !maybe_cut)
    return violation("wrong_size", client, number,
                     fmt::format("the size is {}, and it was said to be {}", size, file.size_told));
  if (sent <= file.told.ended && file.told.begun != base::TimePoint{}) return;
  file.size_told = size;
  file.told = {sent, scheduler_.now()};
}

}  // namespace braid::sim::cluster
