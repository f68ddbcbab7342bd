#include "pnfs_mds/dirty_log.h"

#include <algorithm>
#include <utility>

namespace braid::pnfs_mds {

base::Result<std::unique_ptr<DirtyLog>> DirtyLog::open(int directory) {
  std::unique_ptr<DirtyLog> out(new DirtyLog);
  bool damaged = false;
  const auto take = [&](base::BytesView record) { damaged = !out->take(record) || damaged; };
  const auto snapshot = [log = out.get()] { return log->snapshot(); };
  auto journal = Journal::open(directory, "dirty", snapshot, take);
  if (!journal) return base::fail(journal.error());
  if (damaged) return base::fail(EBADMSG);
  out->journal_ = std::move(*journal);
  // What was clean at last.
  out->state_.with([](State& state) {
    std::erase_if(state.entries, [](const auto& entry) { return !entry.second.kept; });
    for (auto& [object, entry] : state.entries) entry.looked = entry.version;
  });
  return out;
}

// An entry that is not kept is there for its version alone: an older record may come after that which ends
// it.
bool DirtyLog::take(base::BytesView record) {
  const std::optional<DirtyRecord> known = decode_dirty(record);
  if (!known) return false;
  state_.with([&](State& state) {
    const auto of = [&](pnfs::ObjectId object, RecordVersion version) -> Entry* {
      state.last = std::max(state.last, version);
      Entry& entry = state.entries[object];
      if (version < entry.version) return nullptr;
      entry.version = version;
      return &entry;
    };
    if (const auto* const dirty = std::get_if<DirtyObject>(&*known)) {
      Entry* const entry = of(dirty->object, dirty->version);
      if (entry == nullptr) return;
      entry->file = dirty->file;
      // Nobody knew where to take them away.
      entry->owes_privileges = dirty->file.size == 0;
      entry->born = dirty->version;
      entry->wanted = entry->kept = true;
    } else {
      const auto& clean = std::get<CleanObject>(*known);
      if (Entry* const entry = of(clean.object, clean.version)) entry->wanted = entry->kept = false;
    }
  });
  return true;
}

std::vector<base::Bytes> DirtyLog::snapshot() const {
  return state_.with([](const State& state) {
    std::vector<base::Bytes> records;
    records.reserve(state.entries.size());
    for (const auto& [object, entry] : state.entries)
      if (entry.wanted)
        records.push_back(encode(DirtyRecord(DirtyObject{entry.version, object, entry.file})));
    return records;
  });
}

DirtyLog::Entry& DirtyLog::said(State& state, pnfs::ObjectId object, const vfs::FileHandle& file) {
  Entry& entry = state.entries[object];
  if (file.size > 0) entry.file = file;
  entry.version = ++state.last;
  if (entry.born == 0) entry.born = entry.version;
  return entry;
}

void DirtyLog::written(pnfs::ObjectId object, const vfs::FileHandle& file) {
  state_.with([&](State& state) { said(state, object, file); });
}

void DirtyLog::put(pnfs::ObjectId object, const vfs::FileHandle& file) {
  state_.with([&](State& state) {
    const auto found = state.entries.find(object);
    const bool settled = found == state.entries.end() || found->second.settled == found->second.version;
    Entry& entry = said(state, object, file);
    if (settled) entry.settled = entry.version;
  });
}

vfs::VfsOp<> DirtyLog::keep(std::vector<pnfs::ObjectId> objects) {
  struct Kept {
    pnfs::ObjectId object;
    RecordVersion born = 0;
  };
  std::vector<Kept> kept;
  std::vector<base::Bytes> records;
  state_.with([&](State& state) {
    records.reserve(objects.size());
    kept.reserve(objects.size());
    for (const pnfs::ObjectId object : objects) {
      const auto found = state.entries.find(object);
      if (found == state.entries.end() || found->second.kept) continue;
      Entry& entry = found->second;
      entry.wanted = true;
      records.push_back(encode(DirtyRecord(DirtyObject{entry.version, object, entry.file})));
      kept.push_back({object, entry.born});
    }
  });
  if (records.empty()) co_return;
  co_await journal_->append(std::move(records));
  // A file may have been clean meanwhile, and be dirty again: of that the log does not know.
  state_.with([&](State& state) {
    for (const Kept& one : kept) {
      const auto found = state.entries.find(one.object);
      if (found != state.entries.end() && found->second.born == one.born) found->second.kept = true;
    }
  });
}

bool DirtyLog::unsettled(pnfs::ObjectId object) const {
  return state_.with([&](const State& state) {
    const auto found = state.entries.find(object);
    return found != state.entries.end() && found->second.settled != found->second.version;
  });
}

RecordVersion DirtyLog::version_of(pnfs::ObjectId object) const {
  return state_.with([&](const State& state) {
    const auto found = state.entries.find(object);
    return found == state.entries.end() ? RecordVersion{0} : found->second.version;
  });
}

void DirtyLog::settled(pnfs::ObjectId object, RecordVersion version) {
  state_.with([&](State& state) {
    const auto found = state.entries.find(object);
    if (found == state.entries.end() || found->second.version != version) return;
    found->second.settled = version;
  });
}

void DirtyLog::owe_privileges(pnfs::ObjectId object) {
  state_.with([&](State& state) {
    const auto found = state.entries.find(object);
    if (found != state.entries.end()) found->second.owes_privileges = true;
  });
}

bool DirtyLog::owes_privileges(pnfs::ObjectId object) const {
  return state_.with([&](const State& state) {
    const auto found = state.entries.find(object);
    return found != state.entries.end() && found->second.owes_privileges;
  });
}

void DirtyLog::privileges_gone(pnfs::ObjectId object) {
  state_.with([&](State& state) {
    const auto found = state.entries.find(object);
    if (found != state.entries.end()) found->second.owes_privileges = false;
  });
}

void DirtyLog::know(pnfs::ObjectId object, const vfs::FileHandle& file) {
  state_.with([&](State& state) {
    const auto found = state.entries.find(object);
    if (found != state.entries.end() && found->second.file.size == 0) found->second.file = file;
  });
}

void DirtyLog::forget(pnfs::ObjectId object) {
  state_.with([&](State& state) {
    const auto found = state.entries.find(object);
    if (found == state.entries.end()) return;
    if (found->second.wanted) state.left.push_back({found->second.version, object});
    state.entries.erase(found);
  });
}

std::vector<DirtyLog::Known> DirtyLog::look(pnfs::ObjectId after, std::size_t count) {
  return state_.with([&](State& state) {
    std::vector<Known> out;
    out.reserve(std::min(count, state.entries.size()));
    for (auto at = state.entries.upper_bound(after); at != state.entries.end() && out.size() < count; ++at) {
      Entry& entry = at->second;
      const bool rests = std::exchange(entry.looked, entry.version) == entry.version;
      out.push_back({at->first, entry.file, entry.version, entry.settled == entry.version, rests});
    }
    return out;
  });
}

std::size_t DirtyLog::size() const {
  return state_.with([](const State& state) { return state.entries.size() + state.left.size(); });
}

vfs::VfsOp<> DirtyLog::clean(const std::vector<Known>& files) {
  std::vector<base::Bytes> records;
  state_.with([&](State& state) {
    records.reserve(files.size() + state.left.size());
    for (const CleanObject& gone : std::exchange(state.left, {}))
      records.push_back(encode(DirtyRecord(gone)));
    for (const Known& file : files) {
      const auto found = state.entries.find(file.object);
      if (found == state.entries.end() || !file.settled) continue;
      const Entry& entry = found->second;
      if (entry.version != file.version || entry.settled != file.version) continue;
      if (entry.wanted) records.push_back(encode(DirtyRecord(CleanObject{entry.version, file.object})));
      state.entries.erase(found);
    }
  });
  if (!records.empty()) co_await journal_->append(std::move(records));
}

}  // namespace braid::pnfs_mds
