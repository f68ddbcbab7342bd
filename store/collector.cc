#include "store/collector.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "base/assert.h"
#include "base/log.h"
#include "base/xxhash64.h"
#include "store/recipe.h"

namespace braid::store {

std::uint64_t Collector::now() const {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::seconds>(clock_.wall().time_since_epoch()).count());
}

void Collector::give_up(std::string why) {
  if (report_.alarm.empty()) report_.alarm = std::move(why);
}

bool Collector::goes_on() {
  if (!report_.stopped && options_.stop && options_.stop()) report_.stopped = true;
  return report_.alarm.empty() && !report_.stopped;
}

GcReport Collector::run(GcProgress& progress) {
  base::check(store_.writable(), "garbage is removed from stores that are open for writing");
  marks_ = store_.marks();
  Marks before = marks_;
  for (int round = 0; round < 2; ++round) {
    mark(progress);
    if (!goes_on()) break;
    if (auto noted = note_missed(); !noted) {
      give_up(fmt::format("{}: {}", Marks::name, base::message_of(noted.error())));
      break;
    }
    ++progress.marks;
    const std::vector<std::uint32_t> gone = due(before);
    remove(store_.chunks().pins().condemn(gone, pinned_since_), progress);
    // What this mark was the first to miss goes by the next one, if it need not be kept.
    before = marks_;
    if (due(before).empty()) break;
  }
  report_.live_bytes = marks_.live;
  report_.garbage_bytes = marks_.garbage;
  if (!report_.alarm.empty())
    base::log_event(base::Level::error, "store_gc_stopped", "{}: nothing is removed: {}", store_.directory(),
                    report_.alarm);
  return report_;
}

// Everything that is in use, or nothing is known.
void Collector::mark(GcProgress& progress) {
  live_ = {};
  report_.files = 0;
  progress.files = 0;
  if (store_.registry() == nullptr) return give_up("the registry is damaged or gone");
  if (store_.index() == nullptr) return give_up("the index cannot be opened");
  pinned_since_ = store_.chunks().pins().begin_mark();
  last_ = store_.containers().last_number();
  auto numbers = store_.containers().numbers();
  if (!numbers) return give_up(fmt::format("containers: {}", base::message_of(numbers.error())));
  containers_ = std::move(*numbers);
  mark_registry(progress);
  if (!goes_on()) return;
  if (std::string why = trees_.sync(); !why.empty()) give_up(std::move(why));
}

Collector::FileKey Collector::key_of(const RegistryEntry& entry) {
  const std::uint64_t seed = std::uint64_t{entry.tree} << 16U | entry.file.type;
  return {base::xxhash64(entry.file.view(), seed), base::xxhash64(entry.file.view(), ~seed)};
}

Collector::Files Collector::files_of_registry() {
  Files out;
  bool cut = false;
  const auto damaged = store_.registry()->walk([&](const RegistryEntry& entry) {
    if (entry.kind == RegistryKind::cut)
      cut = true;
    else
      out[key_of(entry)].unsealed = entry.kind == RegistryKind::unsealed;
  });
  if (!damaged) give_up(fmt::format("registry: {}", base::message_of(damaged.error())));
  // Which file it was about nobody knows: it may have been sealed.
  if (cut || (damaged && *damaged > 0))
    give_up("the registry is damaged: braid check --repair makes it anew");
  return out;
}

std::set<std::uint32_t> Collector::forgotten_trees() {
  std::set<std::uint32_t> out;
  const auto trees = store_.trees();
  if (!trees) give_up("the file trees is damaged or gone");
  for (const Tree& tree : trees.value_or(std::vector<Tree>()))
    if (tree.forgotten()) out.insert(tree.number);
  return out;
}

void Collector::mark_registry(GcProgress& progress) {
  const std::set<std::uint32_t> forgotten = forgotten_trees();
  Files files = files_of_registry();
  if (!goes_on()) return;
  const auto walked = store_.registry()->walk([&](const RegistryEntry& entry) {
    FileState& state = files[key_of(entry)];
    if (std::exchange(state.visited, true) || !goes_on() || forgotten.contains(entry.tree)) return;
    mark_file(entry, state.unsealed);
    ++progress.files;
  });
  if (!walked || *walked > 0) give_up("the registry cannot be read");
}

void Collector::mark_file(const RegistryEntry& entry, bool unsealed) {
  const auto bytes = trees_.record_of(entry.tree, entry.file);
  if (!bytes)
    return give_up(fmt::format("{}: {}", trees_.name_of(entry.tree, entry.file),
                               bytes.error() == base::errno_of(ENXIO) ? "its file system is not there"
                                                                      : base::message_of(bytes.error())));
  if (!*bytes) return;
  const auto record = decode_record(**bytes, store_.keys(), entry.file);
  // Since it was unsealed, it may have come into another store.
  if (!record && unsealed && record.error() == RecordFault::damaged) return;
  if (!record)
    return give_up(fmt::format("{}: its record cannot be read", trees_.name_of(entry.tree, entry.file)));
  ++report_.files;
  if (!mark_record(*record) && report_.alarm.empty())
    give_up(fmt::format("{}: a part of it cannot be read", trees_.name_of(entry.tree, entry.file)));
}

bool Collector::mark_record(const Record& record) {
  const auto bytes = store_.chunks().get_root(record.root, record.at);
  if (!bytes) return false;
  return mark_root(
      {.id = record.root, .at = record.at, .bytes = static_cast<std::uint32_t>((*bytes)->size())});
}

// Of a root, and of a node, all copies that READ may come by: each names places of its own. One of them has
// to be there.
bool Collector::mark_root(const ChunkRef& root) {
  bool any = false;
  for (const auto& at : store_.chunks().places_of(root)) {
    if (!at) continue;
    if (!live_.add(*at, ChunkHeader::bytes + root.bytes)) {
      any = true;
      continue;
    }
    const auto bytes = store_.chunks().at_place(ChunkKind::root, root, *at);
    const auto decoded = bytes == nullptr ? std::nullopt : decode_root(*bytes);
    if (!decoded) continue;
    if (!mark_node(decoded->top)) return false;
    any = true;
  }
  return any;
}

bool Collector::mark_node(const Node& node) {
  return std::ranges::all_of(node.entries, [&](const NodeEntry& entry) {
    if (!goes_on()) return false;
    if (entry.kind == EntryKind::plain) return true;
    return entry.kind == EntryKind::child ? mark_child(entry.chunk) : mark_data(entry.chunk);
  });
}

bool Collector::mark_child(const ChunkRef& chunk) {
  bool any = false;
  for (const auto& at : store_.chunks().places_of(chunk)) {
    if (!at) continue;
    if (!live_.add(*at, ChunkHeader::bytes + chunk.bytes)) {
      any = true;
      continue;
    }
    const auto bytes = store_.chunks().at_place(ChunkKind::node, chunk, *at);
    const auto node = bytes == nullptr ? std::nullopt : decode_node(*bytes);
    if (!node) continue;
    if (!mark_node(*node)) return false;
    any = true;
  }
  return any;
}

// A copy that the index knows is what READ finds when the other one is bad.
bool Collector::mark_data(const ChunkRef& chunk) {
  if (!live_.add(chunk.at, ChunkHeader::bytes + chunk.bytes)) return true;
  bool any = chunk.at.offset != 0 &&
             (chunk.at.container >= last_ || std::ranges::binary_search(containers_, chunk.at.container));
  const auto elsewhere = store_.chunks().places_of(chunk)[1];
  if (elsewhere && is_there(*elsewhere, ChunkKind::data, chunk.id)) {
    live_.add(*elsewhere, ChunkHeader::bytes + chunk.bytes);
    any = true;
  }
  return any;
}

bool Collector::is_there(Location at, ChunkKind kind, const hashing::Digest& id) {
  const auto header = store_.containers().look(at);
  return header && header->kind == kind && header->id == id;
}

base::Result<void> Collector::note_missed() {
  Marks next{.marked = now(), .live = live_.bytes()};
  std::uint64_t bytes = 0;
  report_.waiting_bytes = 0;
  for (const std::uint32_t number : containers_) {
    const auto one = store_.containers().bytes_of(number);
    if (!one) return base::fail(one.error());
    bytes += *one;
    if (number >= last_ || live_.has(number) || next.missed.size() >= Marks::missed_max) continue;
    const auto known = marks_.missed.find(number);
    // A clock that went back keeps it for longer.
    next.missed[number] = known == marks_.missed.end() ? next.marked : std::min(known->second, next.marked);
    report_.waiting_bytes += *one;
  }
  next.garbage = bytes - std::min(bytes, next.live);
  marks_ = std::move(next);
  return store_.put_marks(marks_);
}

// Missed by the last mark and by one before it, and kept for long enough.
std::vector<std::uint32_t> Collector::due(const Marks& before) const {
  std::vector<std::uint32_t> out;
  for (const auto& [number, since] : marks_.missed)
    if (before.missed.contains(number) && marks_.marked - since >= options_.keep_seconds)
      out.push_back(number);
  return out;
}

void Collector::remove(const std::vector<std::uint32_t>& containers, GcProgress& progress) {
  if (containers.empty()) return;
  for (const std::uint32_t number : containers) {
    const auto bytes = store_.containers().bytes_of(number);
    const auto removed = bytes ? remove_one(number) : base::fail(bytes.error());
    if (!removed)
      return give_up(fmt::format("{}: {}", Containers::name_of(number), base::message_of(removed.error())));
    ++report_.removed;
    ++progress.removed;
    report_.removed_bytes += *bytes;
    report_.waiting_bytes -= std::min(report_.waiting_bytes, *bytes);
    marks_.garbage -= std::min(marks_.garbage, *bytes);
    marks_.missed.erase(number);
  }
  base::Result<void> done = store_.containers().sync_names();
  if (done) done = store_.put_marks(marks_);
  if (!done) give_up(fmt::format("containers: {}", base::message_of(done.error())));
}

// The index forgets what was there, so that nobody looks for it: not that it would be believed.
base::Result<void> Collector::remove_one(std::uint32_t number) {
  const auto walked =
      store_.containers().walk(number, false, [&](Location at, const ChunkHeader& header, base::BytesView) {
        if (store_.index()->find(header.id) == at) store_.index()->remove(header.id);
      });
  if (!walked) return base::fail(walked.error());
  return store_.containers().remove(number);
}

}  // namespace braid::store
