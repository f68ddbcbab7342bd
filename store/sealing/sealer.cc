#include "store/sealing/sealer.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/assert.h"
#include "store/sealing/unseal.h"

namespace braid::store {
namespace {

constexpr std::size_t read_bytes_at_once = 4 * base::MiB;
constexpr std::uint64_t no_last_byte = std::numeric_limits<std::uint64_t>::max();

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
  if (done) done = file.set_attribute(record_name, encode(record.done(), keys, handle));
  return done;
}

// Those without the others. Both are in order and apart.
std::vector<Extent> without_all(const std::vector<Extent>& from, const std::vector<Extent>& others) {
  std::vector<Extent> out;
  for (const Extent& extent : from)
    for (const Extent& left : without(extent, others)) out.push_back(left);
  return out;
}

// All that there is of them is on the medium on return.
base::Result<void> sync_of(std::span<SealDraft> drafts) {
  if (drafts.size() == 1 && drafts.front().sync) return drafts.front().sync();
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

void Sealer::look_in_former(const SealDraft& draft, const std::shared_ptr<const SealedFile>& now) {
  former_ = {};
  if (versions_ != nullptr) former_.look_in(now, versions_->find(draft.handle));
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
  draft.seen = *record;
  if (*record) return prepare_sealed(draft, **record);
  draft.outcome = SealOutcome::small;
  const auto takes_blocks = has_blocks(file, *now);
  if (!takes_blocks) return base::fail(takes_blocks.error());
  if (!*takes_blocks) return {};
  choose_params(draft);
  look_in_former(draft, nullptr);
  RecipeBuilder recipe(store_.chunks());
  if (auto read = read_all(draft, recipe); !read) return read;
  auto top = recipe.finish();
  if (!top) return base::fail(top.error());
  return draft_of(draft, {std::move(*top), recipe.mapped()});
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
  if ((*found)->record().pending) {
    const auto seen = file.attribute(record_name);
    if (!seen) return base::fail(seen.error());
    draft.seen = *seen;
  }
  const auto now = file.status();
  if (!now) return base::fail(now.error());
  draft.before = *now;
  const SealedFile sealed(store_.chunks(), (*found)->record().done(), (*found)->root());
  auto extents = sealed.newer(file, 0, now->size);
  if (!extents) return base::fail(extents.error());
  draft.extents = without_all(*extents, draft.hot);
  if (draft.written && draft.extents.size() > Root::steps_max) draft.extents.resize(Root::steps_max);
  if (!are_enough(length_of(draft.extents), now->size)) return {};
  choose_params(draft);
  look_in_former(draft, *found);
  auto recipe = with_replaced(
      store_.chunks(), {sealed.root().top, sealed.record().mapped}, draft.extents, now->size,
      [&](std::size_t index, RecipeBuilder& out) { return read_extent(file, draft.extents[index], out); });
  if (!recipe) return base::fail(recipe.error());
  return draft_of(draft, std::move(*recipe));
}

base::Result<void> Sealer::draft_of(SealDraft& draft, RevisedRecipe recipe) {
  if (!are_enough(recipe.mapped, draft.before.size)) return {};
  draft.root.top = std::move(recipe.top);
  draft.record.mapped = recipe.mapped;
  draft.outcome = SealOutcome::sealed;
  // What clients write meanwhile changes it: renew() puts it.
  return draft.written ? base::Result<void>() : put_root(draft);
}

base::Result<void> Sealer::put_root(SealDraft& draft) {
  draft.root = {.size = draft.before.size,
                .mtime = draft.before.mtime,
                .ctime = draft.before.ctime,
                .steps = punches_of(draft.extents, draft.before.size),
                .top = std::move(draft.root.top)};
  const auto root = store_.chunks().put(ChunkKind::root, encode(draft.root));
  if (!root) return base::fail(root.error());
  draft.record = {.root = root->id, .at = root->at, .mapped = draft.record.mapped, .pending = true};
  return {};
}

// Of more extents than a root has steps the last ones stay as they are, where somebody writes between them.
base::Result<void> Sealer::read_all(SealDraft& draft, RecipeBuilder& recipe) {
  const std::uint64_t size = draft.before.size;
  for (std::uint64_t at = 0; at < size;) {
    const auto found = draft.file->next_data(at);
    if (!found) return base::fail(found.error());
    if (!*found || (*found)->begin >= size) break;
    const Extent extent{(*found)->begin, std::min((*found)->end, size)};
    for (const Extent& part : without(extent, draft.hot)) {
      if (draft.written && draft.extents.size() == Root::steps_max) return {};
      if (auto read = read_extent(*draft.file, part, recipe); !read) return read;
      draft.extents.push_back(part);
    }
    at = extent.end;
  }
  return {};
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
  former_.look_around(store_.chunks(), offset, offset + bytes.size());
  const auto kept = store_.chunks().put_all(ChunkKind::data, chunks, former_.hint());
  if (!kept) return base::fail(kept.error());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    entries[i].chunk = (*kept)[i];
    former_.follow(entries[i].chunk.id, entries[i].offset);
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
  for (SealDraft& draft : drafts)
    if (draft.written)
      if (auto left = leave_alone(draft, draft.written(), draft.before.size); !left) return left;
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

// What was written to since it was read is taken out of the recipe again: these blocks are the file's own.
base::Result<void> Sealer::leave_alone(SealDraft& draft, const std::vector<Extent>& written,
                                       std::uint64_t size) {
  std::vector<Extent> left = without_all(draft.extents, written);
  if (left == draft.extents && size >= draft.before.size) return {};
  std::vector<Extent> gone = without_all(draft.extents, left);
  std::erase_if(gone, [size](const Extent& range) { return range.begin >= size; });
  if (!gone.empty()) gone.back().end = std::min(gone.back().end, size);
  auto recipe = with_replaced(store_.chunks(), {std::move(draft.root.top), draft.record.mapped}, gone, size,
                              [](std::size_t, RecipeBuilder&) { return base::Result<void>(); });
  if (!recipe) return base::fail(recipe.error());
  draft.root.top = std::move(recipe->top);
  draft.record.mapped = recipe->mapped;
  // The rest has bytes of its own, which hide those of the recipe.
  if (left.size() > Root::steps_max) left.resize(Root::steps_max);
  draft.extents = std::move(left);
  return {};
}

// The file as it is now, to which nobody writes any more. A block that the file ended in is another one, if
// it does not end there now.
base::Result<void> Sealer::renew(SealDraft& draft, const FileStatus& now) {
  std::vector<Extent> written = draft.written();
  if (now.size != draft.before.size) {
    const std::uint64_t end = std::min(now.size, draft.before.size) / now.block_bytes * now.block_bytes;
    std::erase_if(written, [end](const Extent& range) { return range.begin >= end; });
    if (written.empty() || written.back().end < end)
      written.push_back({end, no_last_byte});
    else
      written.back().end = no_last_byte;
  }
  if (auto left = leave_alone(draft, written, now.size); !left) return left;
  draft.before = now;
  if (!are_enough(length_of(draft.extents), now.size)) draft.outcome = SealOutcome::changed;
  if (draft.outcome != SealOutcome::sealed) return {};
  auto done = put_root(draft);
  return done ? store_.chunks().sync() : done;
}

// Whether the file still is what the draft is made for.
base::Result<void> Sealer::look_again(SealDraft& draft) {
  const auto now = draft.file->status();
  if (!now) return base::fail(now.error());
  const auto record = draft.file->attribute(record_name);
  if (!record) return base::fail(record.error());
  if (*record != draft.seen || !draft.untouched() || (!draft.written && !same(*now, draft.before)))
    draft.outcome = SealOutcome::changed;
  return draft.written && draft.outcome == SealOutcome::sealed ? renew(draft, *now) : base::Result<void>();
}

base::Result<void> Sealer::carry_out(std::span<SealDraft> drafts) {
  base::Result<void> done;
  bool any = false;
  for (SealDraft& draft : drafts) {
    if (auto looked = look_again(draft); !looked) return looked;
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

// A local process that has come for a file while it was sealed would read zeros, and write among them. One
// that comes for a file of an export is to know that.
void Sealer::give_back_what_is_wanted(std::span<SealDraft> drafts) {
  std::vector<UnsealDraft> wanted;
  std::vector<SealDraft*> whose;
  for (SealDraft& draft : drafts) {
    if (draft.outcome != SealOutcome::sealed || draft.served || draft.untouched()) continue;
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
  const SealedFile done(store.chunks(), sealed.record().done(), sealed.root());
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

}  // namespace braid::store
