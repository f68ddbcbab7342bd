#include "store/maintenance/collector.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "base/assert.h"
#include "base/xxhash64.h"
#include "store/recipes/recipe.h"

namespace braid::store {

std::uint64_t Collector::now() const { return base::seconds_since_1970(clock_.wall()); }

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
    const std::vector<std::uint32_t> thin = due_to_rewrite(before);
    remove(store_.chunks().pins().condemn(gone, pinned_since_), progress);
    rewrite(thin, progress);
    shorten_registry();
    // What this mark was the first to miss goes by the next one, if it need not be kept.
    before = marks_;
    if (due(before).empty() && due_to_rewrite(before).empty()) break;
  }
  report_.live_bytes = marks_.live;
  report_.garbage_bytes = marks_.garbage;
  return report_;
}

// Everything that is in use, or nothing is known.
void Collector::mark(GcProgress& progress) {
  live_ = {};
  files_.reset();
  report_.files = 0;
  progress.files = 0;
  if (store_.registry() == nullptr) return give_up("the registry is damaged or gone");
  if (store_.index() == nullptr) return give_up("the index cannot be opened");
  pinned_since_ = store_.chunks().pins().begin_mark();
  last_ = store_.containers().last_number();
  kept_from_ = std::min(last_, store_.chunks().index_filler().complete_to());
  auto numbers = store_.containers().numbers();
  if (!numbers) return give_up(fmt::format("containers: {}", base::message_of(numbers.error())));
  containers_ = std::move(*numbers);
  find_forwarding();
  mark_registry(progress);
  // Behind the files: one that lost its name before it was looked at is open now, or nobody reads it any
  // more.
  if (goes_on()) mark_open_files();
  if (!goes_on()) return;
  if (std::string why = trees_.sync(); !why.empty()) give_up(std::move(why));
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
  if (!goes_on()) return;
  files_.emplace(store_, pinned_since_);
  std::string why = files_->look_at_all([&](const RegistryEntry& entry, bool unsealed) {
    if (forgotten.contains(entry.tree)) return Presence::gone_for_good;
    if (!goes_on()) return Presence::found;
    ++progress.files;
    return mark_file(entry, unsealed);
  });
  if (!why.empty()) give_up(std::move(why));
}

void Collector::mark_open_files() {
  if (!options_.open_records) return;
  for (const Record& record : options_.open_records())
    if (goes_on() && !mark_record(record) && goes_on())
      give_up("the recipe of a file that is open cannot be read");
}

Presence Collector::mark_file(const RegistryEntry& entry, bool unsealed) {
  const auto bytes = trees_.record_of(entry.tree, entry.file);
  if (!bytes) {
    give_up(fmt::format("{}: {}", trees_.name_of(entry.tree, entry.file),
                        bytes.error() == base::errno_of(ENXIO) ? "its file system is not there"
                                                               : base::message_of(bytes.error())));
    return Presence::found;
  }
  if (!*bytes) return Presence::gone;
  const auto record = decode_record(**bytes, store_.keys(), entry.file);
  // Since it was unsealed, it may have come into another store.
  if (!record && unsealed && record.error() == RecordFault::damaged) return Presence::gone;
  if (!record) {
    give_up(fmt::format("{}: its record cannot be read", trees_.name_of(entry.tree, entry.file)));
    return Presence::found;
  }
  ++report_.files;
  if (!mark_record(*record) && goes_on())
    give_up(fmt::format(
        "{}: its recipe cannot be read; remove it, or make it anew from a good copy (braid check names "
        "all such files)",
        trees_.name_of(entry.tree, entry.file)));
  return Presence::found;
}

bool Collector::mark_record(const Record& record) {
  const auto bytes = store_.chunks().get_root(record.root, record.at);
  if (!bytes) return false;
  return mark_root(
      {.id = record.root, .at = record.at, .bytes = static_cast<std::uint32_t>((*bytes)->size())});
}

void Collector::find_forwarding() {
  forwarding_.clear();
  unknown_.clear();
  for (const std::uint32_t number : containers_) {
    if (number >= last_ || !goes_on()) return;
    const auto rewritten = store_.containers().is_forwarding(number);
    if (!rewritten) unknown_.insert(number);
    if (rewritten && *rewritten) forwarding_.insert(number);
  }
}

bool Collector::is_container(std::uint32_t number) const {
  return number >= last_ || std::ranges::binary_search(containers_, number);
}

Collector::Seen Collector::add_live(Location at, std::uint64_t bytes) {
  Seen out;
  for (bool first = true;; first = false) {
    const bool rewritten = forwarding_.contains(at.container);
    const bool fresh = live_.add(at, rewritten ? ForwardingEntry::bytes : bytes);
    if (first) out.fresh = fresh;
    out.there = at.offset != 0 && is_container(at.container);
    if (unknown_.contains(at.container))
      give_up(fmt::format("{}: nobody knows what it is, and a file refers to it",
                          Containers::name_of(at.container)));
    if (!out.there || !rewritten) return out;
    const auto next = store_.containers().forwarded(at);
    out.there = next.has_value();
    if (!next && next.error() != base::errno_of(EBADMSG))
      give_up(fmt::format("{}: {}", Containers::name_of(at.container), base::message_of(next.error())));
    if (!next || !*next) return out;
    at = **next;
  }
}

// Of a root, and of a node, all copies that READ may come by: each names places of its own. One of them has
// to be there.
bool Collector::mark_root(const ChunkRef& root) {
  bool any = false;
  for (const auto& at : {std::optional(root.at), elsewhere(ChunkKind::root, root)}) {
    if (!at) continue;
    if (!add_live(*at, ChunkHeader::bytes + root.bytes).fresh) {
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
  for (const auto& at : {std::optional(chunk.at), elsewhere(ChunkKind::node, chunk)}) {
    if (!at) continue;
    if (!add_live(*at, ChunkHeader::bytes + chunk.bytes).fresh) {
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

bool Collector::mark_data(const ChunkRef& chunk) {
  const Seen seen = add_live(chunk.at, ChunkHeader::bytes + chunk.bytes);
  if (!seen.fresh) return true;
  bool any = seen.there;
  if (const auto at = elsewhere(ChunkKind::data, chunk)) {
    add_live(*at, ChunkHeader::bytes + chunk.bytes);
    any = true;
  }
  return any;
}

std::optional<Location> Collector::elsewhere(ChunkKind kind, const ChunkRef& chunk) {
  const auto at = store_.chunks().places_of(chunk)[1];
  if (!at) return std::nullopt;
  const auto header = store_.containers().look(*at);
  return header && header->kind == kind && header->id == chunk.id ? at : std::nullopt;
}

// The mark knows how long chunks are, and not what they were compressed to: the directory does.
std::uint64_t Collector::live_bytes_of(std::uint32_t number) {
  const std::uint64_t known = live_.bytes_of(number);
  if (known == 0 || number > last_ || forwarding_.contains(number) ||
      !store_.requires_feature(FormatFile::compression))
    return known;
  const std::vector<std::uint32_t> offsets = live_.offsets_of(number);
  std::uint64_t out = 0;
  const auto walked =
      store_.containers().walk(number, false, [&](Location at, const ChunkHeader& header, base::BytesView) {
        if (std::ranges::binary_search(offsets, at.offset)) out += ChunkHeader::bytes + header.stored();
      });
  return walked ? out : known;
}

base::Result<void> Collector::note_missed() {
  Marks next{.marked = now()};
  std::uint64_t bytes = 0;
  report_.waiting_bytes = 0;
  for (const std::uint32_t number : containers_) {
    const auto one = store_.containers().bytes_of(number);
    if (!one) return base::fail(one.error());
    bytes += *one;
    const Fill fill{.bytes = *one, .live = live_bytes_of(number)};
    next.live += fill.live;
    if (number >= kept_from_) continue;
    note_thin(number, fill, next);
    if (live_.has(number) || next.missed.size() >= Marks::missed_max) continue;
    const auto known = marks_.missed.find(number);
    // A clock that went back keeps it for longer.
    next.missed[number] = known == marks_.missed.end() ? next.marked : std::min(known->second, next.marked);
    report_.waiting_bytes += *one;
  }
  next.garbage = bytes - std::min(bytes, next.live);
  marks_ = std::move(next);
  return put_marks();
}

// Where there is no room, what goes now makes some. What is not noted is kept for longer after a restart.
base::Result<void> Collector::put_marks() {
  const auto put = store_.put_marks(marks_);
  return !put && is_full(put.error()) ? base::Result<void>() : put;
}

void Collector::note_thin(std::uint32_t number, const Fill& fill, Marks& next) const {
  if (fill.live == 0 || fill.live >= fill.bytes / 2 || forwarding_.contains(number) ||
      next.thin.size() >= Marks::thin_max)
    return;
  const std::vector<std::uint32_t> offsets = live_.offsets_of(number);
  const std::uint64_t chunks = base::xxhash64(std::as_bytes(std::span(offsets)));
  const auto known = marks_.thin.find(number);
  const bool same = known != marks_.thin.end() && known->second.chunks == chunks;
  next.thin[number] = {.since = same ? std::min(known->second.since, next.marked) : next.marked,
                       .chunks = chunks};
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
  if (done) done = put_marks();
  if (!done) give_up(fmt::format("containers: {}", base::message_of(done.error())));
}

// As those of due(), and nothing of them was used again since.
std::vector<std::uint32_t> Collector::due_to_rewrite(const Marks& before) const {
  std::vector<std::uint32_t> out;
  for (const auto& [number, thin] : marks_.thin) {
    const auto known = before.thin.find(number);
    if (known != before.thin.end() && known->second.chunks == thin.chunks &&
        marks_.marked - thin.since >= options_.keep_seconds)
      out.push_back(number);
  }
  return out;
}

void Collector::rewrite(const std::vector<std::uint32_t>& containers, GcProgress& progress) {
  for (const std::uint32_t number : containers) {
    if (!goes_on()) return;
    Pins& pins = store_.chunks().pins();
    if (pins.condemn(std::span(&number, 1), pinned_since_).empty()) continue;
    const auto before = store_.containers().bytes_of(number);
    const std::uint64_t live = live_bytes_of(number);
    const auto done = before ? rewrite_one(number) : base::fail(before.error());
    // What is left of it says where its chunks are: it may be referred to.
    pins.pardon(number);
    if (!done && is_full(done.error())) return;
    if (!done)
      return give_up(fmt::format("{}: {}", Containers::name_of(number), base::message_of(done.error())));
    if (!*done) continue;
    ++report_.rewritten;
    ++progress.rewritten;
    report_.moved_bytes += live;
    marks_.garbage -= std::min(marks_.garbage, *before - std::min(*before, live));
    marks_.thin.erase(number);
  }
}

base::Result<bool> Collector::rewrite_one(std::uint32_t number) {
  // Until the entries are there, which lead to what is referred to.
  const Pins::Use use = store_.chunks().pins().use();
  const auto entries = move_chunks(number);
  if (!entries) return base::fail(entries.error());
  if (!*entries) return false;
  base::Result<void> done = store_.chunks().sync();
  if (done) done = store_.require(FormatFile::forwarding);
  if (done) done = forget_in_index(number);
  if (done) done = store_.containers().forward(number, **entries);
  if (!done) return base::fail(done.error());
  return true;
}

// Those that are read one after the other are written together: so they are one piece where they come to lie.
base::Result<std::optional<std::vector<ForwardingEntry>>> Collector::move_chunks(std::uint32_t number) {
  std::vector<ForwardingEntry> out;
  Moving moving;
  for (const std::uint32_t offset : live_.offsets_of(number)) {
    if (!goes_on()) return std::nullopt;
    const Location at{.volume = 0, .container = number, .offset = offset};
    const auto header = store_.containers().look(at);
    if (!header) return std::nullopt;
    const ChunkRef chunk{.id = header->id, .at = at, .bytes = header->length};
    auto bytes = store_.chunks().at_place(header->kind, chunk, at);
    if (bytes == nullptr) return std::nullopt;
    if (moving.kind != header->kind || moving.size + bytes->size() > Containers::group_bytes_max)
      if (auto moved = move(moving, out); !moved) return base::fail(moved.error());
    moving.kind = header->kind;
    moving.size += bytes->size();
    moving.chunks.push_back({.id = chunk.id, .bytes = *bytes});
    moving.offsets.push_back(offset);
    moving.bytes.push_back(std::move(bytes));
  }
  if (auto moved = move(moving, out); !moved) return base::fail(moved.error());
  return out;
}

base::Result<void> Collector::move(Moving& moving, std::vector<ForwardingEntry>& out) {
  if (moving.chunks.empty()) return {};
  const auto put = store_.chunks().put_anew(moving.kind, moving.chunks);
  if (!put) return base::fail(put.error());
  for (std::size_t i = 0; i < put->size(); ++i)
    out.push_back({moving.offsets[i], moving.kind, (*put)[i].bytes, (*put)[i].id, (*put)[i].at});
  if (options_.pace) options_.pace(moving.size);
  moving = {};
  return {};
}

base::Result<void> Collector::remove_one(std::uint32_t number) {
  if (auto forgotten = forget_in_index(number); !forgotten) return forgotten;
  return store_.containers().remove(number);
}

// The index forgets what was there, so that nobody looks for it: not that it would be believed.
base::Result<void> Collector::forget_in_index(std::uint32_t number) {
  const auto walked =
      store_.containers().walk(number, false, [&](Location at, const ChunkHeader& header, base::BytesView) {
        if (store_.index()->find(header.id) == at) store_.index()->remove(header.id);
      });
  if (!walked) return base::fail(walked.error());
  return {};
}

void Collector::shorten_registry() {
  if (!goes_on()) return;
  const auto dropped = files_->shorten(marks_.marked, options_.keep_seconds, options_.registry_slack);
  files_.reset();
  if (dropped) report_.entries_dropped += *dropped;
  if (!dropped && !is_full(dropped.error()))
    give_up(fmt::format("{}: {}", Registry::name, base::message_of(dropped.error())));
}

}  // namespace braid::store
