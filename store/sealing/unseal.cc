#include "store/sealing/unseal.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "base/assert.h"
#include "base/log.h"
#include "store/sealing/sealer.h"

namespace braid::store {
namespace {

// What the recipe has and the stub has not, into the stub.
base::Result<void> write_back(Store& store, UnsealDraft& draft) {
  const std::uint64_t size = draft.before.size;
  const auto write = [&](std::uint64_t offset, base::BytesView bytes) {
    base::Result<void> done = draft.file->write(offset, bytes);
    if (done) done = draft.file->set_times(draft.before.atime, draft.before.mtime);
    return done;
  };
  return SealedFile(store.chunks(), draft.record, draft.root).fill(*draft.file, 0, size, size, write);
}

// What the file is like, and whether it can be unsealed.
base::Result<bool> look_at(Store& store, UnsealDraft& draft) {
  File& file = *draft.file;
  const auto bytes = file.attribute(record_name);
  if (!bytes) return base::fail(bytes.error());
  if (!*bytes) return false;
  const auto handle = file.handle();
  if (!handle) return base::fail(handle.error());
  draft.handle = *handle;
  const auto sealed = SealedFile::open(store.chunks(), store.keys(), *handle, **bytes);
  if (!sealed) return base::fail(sealed.error());
  if (auto finished = finish_steps(store, file, *handle, **sealed); !finished)
    return base::fail(finished.error());
  const auto now = file.status();
  if (!now) return base::fail(now.error());
  draft.before = *now;
  draft.record = (*sealed)->record().done();
  draft.root = (*sealed)->root();
  auto newer = SealedFile(store.chunks(), draft.record, draft.root).newer(file, 0, now->size);
  if (!newer) return base::fail(newer.error());
  draft.holes = without({0, now->size}, *newer);
  return true;
}

bool goes_on(const UnsealDraft& draft) { return draft.outcome && *draft.outcome; }

// Ends for those for which it fails.
void each(std::span<UnsealDraft> drafts, const std::function<base::Result<void>(UnsealDraft&)>& step) {
  for (UnsealDraft& draft : drafts) {
    if (!goes_on(draft)) continue;
    if (const auto done = step(draft); !done) draft.outcome = base::fail(done.error());
  }
}

// All that there is of them is on the medium; or they all end.
void sync_all(std::span<UnsealDraft> drafts) {
  const auto any = std::ranges::find_if(drafts, goes_on);
  if (any == drafts.end()) return;
  const auto done = drafts.size() == 1 ? any->file->sync() : any->file->sync_file_system();
  if (!done) each(drafts, [&](UnsealDraft&) { return done; });
}

// Whose bytes were not written, or not all of them, gets its holes back: what was put there the recipe has.
void undo(std::span<UnsealDraft> drafts) {
  for (UnsealDraft& draft : drafts) {
    if (draft.outcome || draft.holes.empty()) continue;
    base::Result<void> undone;
    for (const Extent& hole : draft.holes) {
      const std::uint64_t end = hole.end == draft.before.size ? behind_last_block(hole.end) : hole.end;
      if (undone) undone = draft.file->punch(hole.begin, end - hole.begin);
    }
    if (undone) undone = draft.file->set_times(draft.before.atime, draft.before.mtime);
    if (!undone)
      base::log_event(base::Level::warning, "store_unseal_undone", "fileid={}: {}; it is read as before",
                      draft.before.fileid, base::message_of(undone.error()));
  }
}

}  // namespace

// The record goes when all bytes are on the medium. Before that a crash leaves some of them in both places.
void unseal(Store& store, std::uint32_t tree, std::span<UnsealDraft> drafts) {
  base::check(store.registry() != nullptr, "whoever unseals has a registry");
  for (UnsealDraft& draft : drafts) draft.outcome = look_at(store, draft);
  each(drafts, [&](UnsealDraft& draft) { return write_back(store, draft); });
  sync_all(drafts);
  undo(drafts);
  each(drafts, [](UnsealDraft& draft) {
    base::Result<void> done = draft.file->remove_attribute(record_name);
    if (done) done = draft.file->set_times(draft.before.atime, draft.before.mtime);
    (void)draft.file->set_hint(false);
    return done;
  });
  sync_all(drafts);
  std::vector<RegistryEntry> entries;
  each(drafts, [&](UnsealDraft& draft) {
    entries.push_back({RegistryKind::unsealed, tree, draft.record.mapped, draft.handle});
    return base::Result<void>();
  });
  if (entries.empty()) return;
  // They are plain files all the same: the entry spares who collects garbage a look at them.
  if (const auto noted = store.registry()->append(entries); !noted)
    base::log_event(base::Level::warning, "store_registry_failed", "{}", base::message_of(noted.error()));
}

}  // namespace braid::store
