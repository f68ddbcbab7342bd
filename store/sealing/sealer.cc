#include "store/sealing/sealer.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/log.h"

namespace braid::store {
namespace {

constexpr std::size_t read_bytes_at_once = 4 * base::MiB;
// A hole that ends behind the file's end frees its last block, too, which is not larger than this.
constexpr std::uint64_t block_bytes_max = 64 * base::KiB;

std::uint64_t behind_last_block(std::uint64_t size) { return (size / block_bytes_max + 1) * block_bytes_max; }

// Where bytes were read: fewer and larger ranges, if there are too many.
std::vector<PendingStep> punches_of(std::vector<Extent> extents, std::uint64_t size) {
  while (extents.size() > Root::steps_max) {
    std::vector<Extent> fewer;
    for (std::size_t i = 0; i < extents.size(); i += 2)
      fewer.push_back({extents[i].begin, extents[std::min(i + 1, extents.size() - 1)].end});
    extents = std::move(fewer);
  }
  std::vector<PendingStep> out;
  for (const Extent& extent : extents) {
    const std::uint64_t end = extent.end == size ? behind_last_block(size) : extent.end;
    out.push_back({StepKind::punch, extent.begin, end - extent.begin});
  }
  return out;
}

// The record when nothing is pending.
Record done_record(Record record) {
  record.pending = record.unsealing = false;
  return record;
}

// Whether so many bytes of a file are worth it.
bool are_enough(std::uint64_t bytes, std::uint64_t size) {
  return bytes > 0 && bytes >= std::min(seal_bytes_min, size);
}

// What lies in its inode, or beside it in a tree of them, takes none. Of a file that is smaller than what
// st_blocks counts in, cp(1) does not look for holes: its copy would have zeros that nobody can tell from
// bytes.
base::Result<bool> has_blocks(File& file, const FileStatus& now) {
  constexpr std::uint64_t counted_bytes = 512;
  if (now.size >= seal_bytes_min) return true;
  if (now.size < counted_bytes || now.allocated == 0) return false;
  const auto lies_inline = file.is_inline();
  if (!lies_inline) return base::fail(lies_inline.error());
  return !*lies_inline;
}

bool same(const FileStatus& a, const FileStatus& b) {
  return a.size == b.size && a.mtime == b.mtime && a.ctime == b.ctime;
}

Punch punch_of(File& file) {
  return [&file](std::uint64_t offset, std::uint64_t length) { return file.punch(offset, length); };
}

base::Result<void> do_steps(const StoreKeys& keys, File& file, const KernelHandle& handle,
                            const Record& record, const Root& root, const Punch& punch) {
  base::Result<void> done;
  for (const PendingStep& step : root.steps) {
    if (done)
      done = step.kind == StepKind::punch ? punch(step.offset, step.length) : file.resize(step.offset);
  }
  if (!done) return done;
  const auto now = file.status();
  if (!now) return base::fail(now.error());
  done = file.set_times(now->atime, root.mtime);
  if (done) done = file.set_attribute(record_name, encode(done_record(record), keys, handle));
  return done;
}

// All that there is of them is on the medium on return.
base::Result<void> sync_of(std::span<SealDraft> drafts) {
  File& any = *drafts.front().file;
  return drafts.size() == 1 ? any.sync() : any.sync_file_system();
}

}  // namespace

Sealer::Sealer(Store& store, std::uint32_t tree, hashing::Profile profile)
    : store_(store), tree_(tree), hasher_(clock_), profile_(profile) {}

// The file's own attribute, then what directories say of it.
void Sealer::choose_params(SealDraft& draft) {
  std::optional<hashing::Profile> wanted;
  if (draft.before.size <= whole_bytes_max) {
    wanted = hashing::Profile::whole;
  } else if (const auto own = draft.file->attribute(profile_attribute); own && *own) {
    wanted = hashing::parse_profile(base::text_of(**own));
  }
  if (!wanted) wanted = draft.profile;
  const hashing::Profile profile = wanted.value_or(profile_);
  auto known = known_params_.find(profile);
  if (known == known_params_.end())
    known = known_params_.emplace(profile, hashing::ChunkParams::of(profile, store_.keys().data_key())).first;
  params_ = &known->second;
}

base::Result<void> Sealer::prepare(SealDraft& draft) {
  draft.use = store_.chunks().pins().use();
  File& file = *draft.file;
  const auto now = file.status();
  if (!now) return base::fail(now.error());
  draft.before = *now;
  const auto record = file.attribute(record_name);
  if (!record) return base::fail(record.error());
  const auto handle = file.handle();
  if (!handle) return base::fail(handle.error());
  draft.handle = *handle;
  if (*record) return prepare_sealed(draft, **record);
  draft.outcome = SealOutcome::small;
  const auto takes_blocks = has_blocks(file, *now);
  if (!takes_blocks) return base::fail(takes_blocks.error());
  if (!*takes_blocks) return {};
  choose_params(draft);
  RecipeBuilder recipe(store_.chunks());
  auto extents = read_all(file, now->size, recipe);
  if (!extents) return base::fail(extents.error());
  auto top = recipe.finish();
  if (!top) return base::fail(top.error());
  return draft_of(draft, {std::move(*top), recipe.mapped()}, std::move(*extents));
}

// One that was written to since it was sealed: the new bytes, and the rest of the recipe.
base::Result<void> Sealer::prepare_sealed(SealDraft& draft, base::BytesView record) {
  File& file = *draft.file;
  draft.outcome = SealOutcome::already;
  const auto found = SealedFile::open(store_.chunks(), store_.keys(), draft.handle, record);
  if (!found) return base::fail(found.error());
  if (draft.served && (*found)->record().pending) return {};
  const auto finished = finish_steps(store_, file, draft.handle, **found);
  if (!finished) return base::fail(finished.error());
  if (!*finished) draft.outcome = SealOutcome::changed;
  if (!*finished) return {};
  const auto now = file.status();
  if (!now) return base::fail(now.error());
  draft.before = *now;
  const SealedFile sealed(store_.chunks(), done_record((*found)->record()), (*found)->root());
  auto extents = sealed.newer(file, 0, now->size);
  if (!extents) return base::fail(extents.error());
  std::uint64_t bytes = 0;
  for (const Extent& extent : *extents) bytes += extent.end - extent.begin;
  if (!are_enough(bytes, now->size)) return {};
  choose_params(draft);
  auto recipe = with_replaced(
      store_.chunks(), {sealed.root().top, sealed.record().mapped}, *extents, now->size,
      [&](std::size_t index, RecipeBuilder& out) { return read_extent(file, (*extents)[index], out); });
  if (!recipe) return base::fail(recipe.error());
  return draft_of(draft, std::move(*recipe), std::move(*extents));
}

// `extents`: what the file has of its own.
base::Result<void> Sealer::draft_of(SealDraft& draft, RevisedRecipe recipe, std::vector<Extent> extents) {
  if (!are_enough(recipe.mapped, draft.before.size)) return {};
  draft.root = {.size = draft.before.size,
                .mtime = draft.before.mtime,
                .ctime = draft.before.ctime,
                .steps = punches_of(std::move(extents), draft.before.size),
                .top = std::move(recipe.top)};
  const auto root = store_.chunks().put(ChunkKind::root, encode(draft.root));
  if (!root) return base::fail(root.error());
  draft.record = {.root = root->id, .at = root->at, .mapped = recipe.mapped, .pending = true};
  draft.outcome = SealOutcome::sealed;
  return {};
}

base::Result<std::vector<Extent>> Sealer::read_all(File& file, std::uint64_t size, RecipeBuilder& recipe) {
  std::vector<Extent> extents;
  for (std::uint64_t at = 0; at < size;) {
    const auto found = file.next_data(at);
    if (!found) return base::fail(found.error());
    if (!*found || (*found)->begin >= size) break;
    const Extent extent{(*found)->begin, std::min((*found)->end, size)};
    if (auto read = read_extent(file, extent, recipe); !read) return base::fail(read.error());
    extents.push_back(extent);
    at = extent.end;
  }
  return extents;
}

// Each is a stream by itself: a hole is a cut.
base::Result<void> Sealer::read_extent(File& file, const Extent& extent, RecipeBuilder& recipe) {
  base::Bytes& held = buffer_;
  held.clear();
  for (std::uint64_t at = extent.begin; at < extent.end;) {
    if (stop_ && stop_()) return base::fail(ECANCELED);
    const std::size_t kept = held.size();
    const std::size_t wanted = std::min<std::uint64_t>(read_bytes_at_once, extent.end - at);
    held.resize(kept + wanted);
    const auto got = file.read(at, base::MutableBytes(held).subspan(kept));
    if (!got) return base::fail(got.error());
    // It was cut short meanwhile: commit() will see that.
    held.resize(kept + *got);
    bytes_read_ += *got;
    const bool is_end = *got < wanted || at + *got == extent.end;
    const auto consumed = keep(held, at - kept, is_end, recipe);
    if (!consumed) return base::fail(consumed.error());
    held.erase(held.begin(), held.begin() + static_cast<std::ptrdiff_t>(*consumed));
    at += *got;
    if (is_end) break;
  }
  return {};
}

// The chunks that the bytes, which begin at a cut, are sure to have; returns how many of the bytes they are.
base::Result<std::uint64_t> Sealer::keep(base::BytesView bytes, std::uint64_t offset, bool is_end,
                                         RecipeBuilder& recipe) {
  if (bytes.empty()) return 0;
  const hashing::Job job{.params = params_,
                         .key = store_.keys().data_key(),
                         .spans = {bytes},
                         .stream_offset = offset,
                         .is_end = is_end,
                         .priority = hashing::Priority::background};
  const auto cut = hash_ ? hash_(job, hasher_) : hasher_.run(job);
  if (!cut) return base::fail(cut.error());
  std::vector<NodeEntry> entries;
  std::vector<Containers::NewChunk> chunks;
  for (const hashing::Chunk& chunk : cut->chunks) {
    if ((chunk.flags & hashing::zero_chunk) != 0) continue;
    entries.push_back(
        {.offset = chunk.offset, .length = chunk.length, .kind = EntryKind::chunk, .slice = 0, .chunk = {}});
    chunks.push_back(
        {chunk.id, bytes.subspan(static_cast<std::size_t>(chunk.offset - offset), chunk.length)});
  }
  const auto kept = store_.chunks().put_all(ChunkKind::data, chunks);
  if (!kept) return base::fail(kept.error());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    entries[i].chunk = (*kept)[i];
    if (auto added = recipe.add(entries[i]); !added) return base::fail(added.error());
  }
  return cut->consumed;
}

base::Result<void> Sealer::commit(std::span<SealDraft> drafts) {
  const auto announced = announce(drafts);
  return announced ? carry_out(drafts) : announced;
}

base::Result<void> Sealer::announce(std::span<SealDraft> drafts) {
  base::check(store_.registry() != nullptr, "whoever seals has a registry");
  std::vector<RegistryEntry> entries;
  for (const SealDraft& draft : drafts)
    entries.push_back({RegistryKind::sealed, tree_, draft.record.mapped, draft.handle});
  if (drafts.empty()) return {};
  base::Result<void> done = store_.chunks().sync();
  // Who finishes this after a crash compares the two: the file's own bytes must not be older then.
  if (done) done = sync_of(drafts);
  if (done) done = store_.registry()->append(entries);
  return done;
}

base::Result<void> Sealer::carry_out(std::span<SealDraft> drafts) {
  base::Result<void> done;
  bool any = false;
  for (SealDraft& draft : drafts) {
    const auto now = draft.file->status();
    if (!now) return base::fail(now.error());
    if (!same(*now, draft.before) || !draft.untouched()) draft.outcome = SealOutcome::changed;
    if (draft.outcome != SealOutcome::sealed) continue;
    // The flag is there before the first hole: who has no store then knows better than to read that.
    done = draft.file->set_hint(true);
    if (done)
      done = draft.file->set_attribute(record_name, encode(draft.record, store_.keys(), draft.handle));
    if (!done) return done;
    any = true;
  }
  if (!any) return {};
  done = sync_of(drafts);
  for (SealDraft& draft : drafts) {
    if (!done) return done;
    if (draft.outcome == SealOutcome::sealed)
      done = do_steps(store_.keys(), *draft.file, draft.handle, draft.record, draft.root,
                      draft.punch ? draft.punch : punch_of(*draft.file));
  }
  if (done) give_back_what_is_wanted(drafts);
  return done;
}

// A local process that has come for a file while it was sealed would read zeros, and write among them.
void Sealer::give_back_what_is_wanted(std::span<SealDraft> drafts) {
  std::vector<UnsealDraft> wanted;
  std::vector<SealDraft*> whose;
  for (SealDraft& draft : drafts) {
    if (draft.outcome != SealOutcome::sealed || draft.untouched()) continue;
    wanted.emplace_back().file = std::move(draft.file);
    whose.push_back(&draft);
  }
  if (wanted.empty()) return;
  unseal(store_, tree_, wanted);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    whose[i]->file = std::move(wanted[i].file);
    if (wanted[i].outcome) whose[i]->outcome = SealOutcome::changed;
  }
}

namespace {

// What a stub has within the steps that were not done, against what the file had when it was sealed.
struct Leftover {
  bool differs = false;
  bool has_holes = false;
};

base::Result<void> compare(File& file, const SealedFile& sealed, const Extent& extent, Leftover& out) {
  const std::uint64_t bytes = std::min<std::uint64_t>(read_bytes_at_once, extent.end - extent.begin);
  base::Bytes there(bytes), wanted(bytes);
  for (std::uint64_t at = extent.begin; at < extent.end && !out.differs;) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(there.size(), extent.end - at));
    const auto got = file.read(at, base::MutableBytes(there).first(size));
    if (!got) return base::fail(got.error());
    if (auto read = sealed.read(file, at, base::MutableBytes(wanted).first(size)); !read) return read;
    out.differs =
        *got != size || !base::equal(base::BytesView(there).first(size), base::BytesView(wanted).first(size));
    at += size;
  }
  return {};
}

base::Result<Leftover> leftover_of(Store& store, File& file, const SealedFile& sealed) {
  const auto now = file.status();
  if (!now) return base::fail(now.error());
  Leftover out{.differs = now->size != sealed.root().size};
  for (const PendingStep& step : sealed.root().steps) {
    const std::uint64_t end = std::min(step.offset + step.length, now->size);
    for (std::uint64_t at = step.offset; at < end && !(out.differs && out.has_holes);) {
      const auto found = file.next_data(at);
      if (!found) return base::fail(found.error());
      const Extent data = *found ? **found : Extent{end, end};
      if (data.begin > at) out.has_holes = true;
      if (data.begin >= end) break;
      const Extent clipped{std::max(at, data.begin), std::min(data.end, end)};
      if (auto compared = compare(file, sealed, clipped, out); !compared) return base::fail(compared.error());
      at = clipped.end;
    }
  }
  if (!out.differs || out.has_holes) return out;
  // Of a file that was sealed before, the rest is in the recipe alone.
  const SealedFile done(store.chunks(), done_record(sealed.record()), sealed.root());
  const auto shows = done.shows_through(file, 0, now->size);
  if (!shows) return base::fail(shows.error());
  out.has_holes = *shows;
  return out;
}

}  // namespace

base::Result<bool> finish_steps(Store& store, File& file, const KernelHandle& handle,
                                const SealedFile& sealed) {
  if (!sealed.record().pending) return true;
  const auto left =
      sealed.record().unsealing ? base::Result<Leftover>(Leftover{}) : leftover_of(store, file, sealed);
  if (!left) return base::fail(left.error());
  if (left->differs && left->has_holes) return base::fail(EBUSY);
  // Nobody knows whether the record was on the medium when the one that set it ended.
  base::Result<void> done = left->differs ? file.remove_attribute(record_name) : base::Result<void>();
  if (done) done = file.sync();
  if (done && !left->differs)
    done = do_steps(store.keys(), file, handle, sealed.record(), sealed.root(), punch_of(file));
  if (!done) return base::fail(done.error());
  return !left->differs;
}

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
  draft.record = done_record((*sealed)->record());
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
