#include "store/maintenance/registered_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace braid::store {
namespace {

const GoneFile* find_gone(const std::vector<GoneFile>& files, const FileKey& key) {
  const auto at = std::ranges::lower_bound(files, key, {}, &GoneFile::key);
  return at != files.end() && at->key == key ? &*at : nullptr;
}

}  // namespace

RegisteredFiles::RegisteredFiles(Store& store, std::uint64_t pinned_since)
    : store_(store), registry_(*store.registry()) {
  settled_ = registry_.settle(pinned_since, [&] { return store_.chunks().pins().last(); });
  end_ = registry_.end();
}

std::string RegisteredFiles::look_at_all(const Look& look) {
  bool cut = false;
  const auto damaged = registry_.walk_to(end_, [&](Registry::Place at, const RegistryEntry& entry) {
    ++entries_;
    if (entry.kind == RegistryKind::cut) {
      cut = true;
      return;
    }
    State& state = files_[FileKey::of(entry)];
    state.unsealed = entry.kind == RegistryKind::unsealed;
    state.last = at;
  });
  if (!damaged) return fmt::format("registry: {}", base::message_of(damaged.error()));
  // Which file it was about nobody knows: it may have been sealed.
  if (cut || *damaged > 0) return "the registry is damaged: braid check --repair makes it anew";
  const auto walked = registry_.walk_to(end_, [&](Registry::Place, const RegistryEntry& entry) {
    State& state = files_[FileKey::of(entry)];
    if (!std::exchange(state.visited, true)) state.presence = look(entry, state.unsealed);
  });
  if (!walked || *walked > 0) return "the registry cannot be read";
  return {};
}

// A file may be about to get the record that its entry announces, unless the entry is settled.
std::vector<GoneFile> RegisteredFiles::gone_now(std::uint64_t now,
                                                const std::vector<GoneFile>& before) const {
  std::vector<GoneFile> out;
  for (const auto& [key, state] : files_) {
    if (state.presence != Presence::gone || state.last >= settled_ || out.size() >= GoneFile::files_max)
      continue;
    const GoneFile* known = find_gone(before, key);
    // A clock that went back keeps it for longer.
    out.push_back({.key = key, .since = known == nullptr ? now : std::min(known->since, now)});
  }
  std::ranges::sort(out);
  return out;
}

// Returns how many entries are not needed.
std::uint64_t RegisteredFiles::choose(std::uint64_t now, std::uint64_t keep_seconds,
                                      const std::vector<GoneFile>& gone,
                                      const std::vector<GoneFile>& before) {
  std::uint64_t needed = 0;
  for (auto& [key, state] : files_) {
    const GoneFile* missed = find_gone(gone, key);
    state.dropped = missed != nullptr
                        ? find_gone(before, key) != nullptr && now - missed->since >= keep_seconds
                        : state.presence == Presence::gone_for_good && state.last < settled_;
    needed += state.dropped ? 0 : 1;
  }
  return entries_ - needed;
}

base::Result<std::uint64_t> RegisteredFiles::shorten(std::uint64_t now, std::uint64_t keep_seconds,
                                                     std::uint64_t slack) {
  const std::vector<GoneFile> before = store_.gone_files();
  std::vector<GoneFile> gone = gone_now(now, before);
  const std::uint64_t unneeded = choose(now, keep_seconds, gone, before);
  const bool pays = unneeded > slack && (unneeded >= entries_ / 2 || unneeded >= GoneFile::files_max / 2);
  if (pays) {
    const auto done = registry_.rewrite(end_, [&](Registry::Place at, const RegistryEntry& entry) {
      const auto found = files_.find(FileKey::of(entry));
      return found == files_.end() || (found->second.last == at && !found->second.dropped);
    });
    if (!done) return base::fail(done.error());
    std::erase_if(gone, [&](const GoneFile& file) { return files_.find(file.key)->second.dropped; });
  }
  if (gone != before)
    if (auto put = store_.put_gone_files(gone); !put) return base::fail(put.error());
  return pays ? unneeded : 0;
}

}  // namespace braid::store
