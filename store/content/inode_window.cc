// The window of an inode: what comes into it, and what becomes of it.
#include <algorithm>
#include <limits>
#include <utility>

#include "base/log.h"
#include "store/content/sealed_inode.h"
#include "store/recipes/recipe_edit.h"

namespace braid::store {
namespace {

constexpr std::uint64_t whole_file = std::numeric_limits<std::uint64_t>::max();
// Of taking a window into the recipe, while others change the file.
constexpr int attempts_max = 3;

std::optional<hashing::Profile> own_profile(File& stub) {
  const auto text = stub.attribute(profile_attribute);
  if (!text || !*text) return std::nullopt;
  return hashing::parse_profile(base::text_of(**text));
}

// The blocks of pieces, which are in order; those that touch are one range.
std::vector<Extent> joined(const std::vector<WindowPiece>& pieces, std::uint64_t block) {
  std::vector<Extent> out;
  for (const WindowPiece& piece : pieces) {
    const Extent blocks{piece.begin / block * block, rounded_up(piece.end, block)};
    if (!out.empty() && blocks.begin <= out.back().end)
      out.back().end = blocks.end;
    else
      out.push_back(blocks);
  }
  return out;
}

}  // namespace

SealedInode::~SealedInode() {
  if (windows_ == nullptr || window_.empty()) return;
  const std::uint64_t before = window_.slab_bytes();
  window_.clear();
  window_changed(before);
}

void SealedInode::window_changed(std::uint64_t slab_bytes_before) {
  windows_->held(slab_bytes_before, window_.slab_bytes());
  const bool was_empty = window_bytes_.exchange(window_.bytes(), std::memory_order_acq_rel) == 0;
  if (was_empty != window_.empty()) windows_->opened(was_empty ? 1 : -1);
  if (!window_.empty()) return;
  use_.reset();
  cutting_failed_ = false;
  first_run_is_begun_ = false;
  run_wanted_ = 0;
}

bool SealedInode::wants(std::uint64_t begin, std::uint64_t end) const {
  if (window_.empty()) return !keeps_no_window_ && end - begin >= windows_->options().begins_with;
  return window_.continues(begin, end);
}

// A block that is the stub's own stays so: what it has is newer than any recipe.
base::Result<bool> SealedInode::take(File& stub, std::uint64_t offset, const io::Payload& data,
                                     std::optional<hashing::Profile> profile, const Fill& fill,
                                     const Resize& resize) {
  if (windows_ == nullptr || data.empty()) return false;
  const std::uint64_t end = offset + data.size();
  const Alone lock = alone();
  if (now_->record().pending || !wants(offset, end) || !windows_->has_room(data.size())) return false;
  const auto status = stub.status();
  if (!status) return base::fail(status.error());
  const auto own = now_->newer(stub, offset, std::min(end, status->size));
  if (!own) return base::fail(own.error());
  if (!own->empty()) return false;
  if (end > status->size)
    if (auto ready = before_growing(stub, end, fill); !ready) return base::fail(ready.error());
  if (!resize(std::max(end, status->size))) return false;
  if (window_.empty()) {
    use_ = store_.chunks().pins().use();
    profile_ = own_profile(stub).value_or(profile.value_or(windows_->options().profile));
  }
  const std::uint64_t before = window_.slab_bytes();
  const bool taken = window_.put(offset, data);
  window_changed(before);
  if (taken) windows_->taken(data.size());
  return taken;
}

base::Result<void> SealedInode::overlay(std::span<const WindowPiece> pieces, std::uint64_t offset,
                                        base::MutableBytes to) const {
  for (const WindowPiece& piece : pieces) {
    const base::MutableBytes room = to.subspan(static_cast<std::size_t>(piece.begin - offset),
                                               static_cast<std::size_t>(piece.end - piece.begin));
    base::Result<void> done;
    if (piece.kind == WindowPiece::Kind::memory)
      std::ranges::copy(*piece.bytes.memory(), room.begin());
    else if (piece.kind == WindowPiece::Kind::zeros)
      std::ranges::fill(room, std::byte{});
    else
      done = store_.chunks().read_data(piece.chunk, piece.slice, room);
    if (!done) return done;
  }
  return {};
}

void SealedInode::erase_window(std::uint64_t begin, std::uint64_t end) {
  ++edits_;
  if (window_.empty()) return;
  const std::uint64_t before = window_.slab_bytes();
  window_.erase(begin, end);
  window_changed(before);
}

// A piece at a time is gone from the window when the stub has it.
base::Result<void> SealedInode::spill(File& stub, std::uint64_t begin, std::uint64_t end,
                                      std::uint64_t number, const Fill& fill) {
  if (!window_.touches(begin, end)) return {};
  const auto before = stub.status();
  if (!before) return base::fail(before.error());
  // A local process may have cut it short.
  if (window_.touches(before->size, whole_file)) erase_window(before->size, whole_file);
  base::Result<void> done;
  for (const WindowPiece& piece : window_.pieces(begin, end)) {
    if (piece.number > number || !done) continue;
    done = spill_piece(stub, piece, fill);
    if (!done) continue;
    windows_->spilled(piece.end - piece.begin);
    const std::uint64_t slab_bytes = window_.slab_bytes();
    window_.erase(piece.begin, piece.end);
    window_changed(slab_bytes);
  }
  const auto kept = stub.set_times(before->atime, before->mtime);
  return done ? kept : done;
}

base::Result<void> SealedInode::spill_piece(File& stub, const WindowPiece& piece, const Fill& fill) {
  written_.note(piece.begin, piece.end);
  base::Bytes bytes(static_cast<std::size_t>(piece.end - piece.begin));
  if (auto read = overlay(std::span(&piece, 1), piece.begin, bytes); !read) return read;
  return write_alone(stub, piece.begin, piece.end, fill, [&](base::BytesView before, base::BytesView after) {
    bytes.insert(bytes.begin(), before.begin(), before.end());
    bytes.insert(bytes.end(), after.begin(), after.end());
    return fill(piece.begin - before.size(), bytes);
  });
}

bool SealedInode::is_behind() {
  const Shared lock = shared();
  return window_.bytes_in_memory() > windows_->options().run_bytes;
}

void SealedInode::cut_window() {
  std::unique_lock cutting(cutting_, std::try_to_lock);
  // Who writes faster than is hashed waits: what is behind at a COMMIT would go to the stub.
  if (!cutting.owns_lock() && is_behind()) cutting.lock();
  // Who cannot be cut now is spilled when it is committed.
  if (cutting.owns_lock() && !cutting_failed_) (void)cut_some(std::nullopt, windows_->options().run_bytes);
}

bool SealedInode::begins_first_run() {
  if (first_run_is_begun_) return false;
  const Shared lock = shared();
  return window_.bytes_in_memory() >= windows_->options().first_run_bytes &&
         !first_run_is_begun_.exchange(true);
}

void SealedInode::cut_first_run() {
  const std::unique_lock cutting(cutting_, std::try_to_lock);
  if (cutting.owns_lock() && !cutting_failed_)
    (void)cut_some(std::nullopt, windows_->options().first_run_bytes);
}

base::Result<bool> SealedInode::cut_some(std::optional<std::uint64_t> up_to, std::uint64_t run_bytes) {
  std::vector<WindowPiece> pieces;
  std::uint64_t number = 0;
  hashing::Profile profile{};
  bool is_end = false;
  const std::uint64_t wanted = std::max(run_wanted_.load(), run_bytes);
  {
    const Shared lock = shared();
    auto run = window_.next_in_memory(0);
    for (; run && pieces.empty(); run = window_.next_in_memory(run->end)) {
      if (!up_to && run->end - run->begin < wanted) continue;
      const std::uint64_t end = std::min(run->end, run->begin + 2 * wanted);
      pieces = window_.pieces(run->begin, end);
      const std::size_t found = pieces.size();
      while (up_to && !pieces.empty() && pieces.back().number > *up_to) pieces.pop_back();
      // Behind it there is a hole, or what came after the COMMIT that this is for.
      is_end = up_to && (end == run->end || pieces.size() < found);
    }
    if (pieces.empty()) return false;
    number = window_.last_number();
    profile = profile_;
    if (former_versions_ != nullptr) former_.look_in(now_, former_versions_->find(file_));
  }
  const auto cuts = windows_->cut(pieces, is_end, profile, former_);
  if (!cuts) {
    cutting_failed_ = true;
    return base::fail(cuts.error());
  }
  // Its first chunk is longer than that.
  run_wanted_ = cuts->empty() ? 2 * wanted : 0;
  const Alone lock = alone();
  const std::uint64_t before = window_.slab_bytes();
  for (const Windows::Cut& cut : *cuts)
    window_.put_chunk(cut.begin, cut.end, cut.chunk ? &*cut.chunk : nullptr, number);
  window_changed(before);
  return true;
}

base::Result<SealedInode::Draft> SealedInode::draft_window(File& stub) {
  const Shared lock = shared();
  Draft draft{.base = now_, .edits = edits_, .number = window_.last_number()};
  const auto status = stub.status();
  if (!status) return base::fail(status.error());
  draft.status = *status;
  for (WindowPiece& piece : window_.pieces(0, draft.status.size)) {
    if (piece.kind == WindowPiece::Kind::memory) continue;
    draft.bytes += piece.end - piece.begin;
    draft.pieces.push_back(std::move(piece));
  }
  return draft;
}

// Chunks, nodes and root are on the medium then.
base::Result<void> SealedInode::put_recipe(Draft& draft) {
  ChunkStore& chunks = store_.chunks();
  std::vector<Extent> ranges;
  ranges.reserve(draft.pieces.size());
  for (const WindowPiece& piece : draft.pieces) ranges.push_back({piece.begin, piece.end});
  auto recipe = with_replaced(chunks, {draft.base->root().top, draft.base->record().mapped}, ranges,
                              draft.status.size, [&](std::size_t index, RecipeBuilder& out) {
                                const WindowPiece& piece = draft.pieces[index];
                                if (piece.kind != WindowPiece::Kind::chunk) return base::Result<void>();
                                return out.add({.offset = piece.begin,
                                                .length = piece.end - piece.begin,
                                                .kind = EntryKind::chunk,
                                                .slice = piece.slice,
                                                .chunk = piece.chunk});
                              });
  if (!recipe) return base::fail(recipe.error());
  draft.root = {.size = draft.status.size,
                .mtime = draft.status.mtime,
                .ctime = draft.status.ctime,
                .steps = {},
                .top = std::move(recipe->top)};
  const auto root = chunks.put(ChunkKind::root, encode(draft.root));
  if (!root) return base::fail(root.error());
  draft.record = {.root = root->id, .at = root->at, .mapped = recipe->mapped};
  return chunks.sync();
}

// Space without bytes, which XFS puts behind the end of a file that grows, is a hole only until somebody has
// read it: from then on the kernel says that it has bytes, which are zeros.
base::Result<void> SealedInode::make_holes(File& stub, const Draft& draft) {
  const auto now = stub.status();
  if (!now) return base::fail(now.error());
  if (now->allocated == 0) return {};
  for (const Extent& range : joined(draft.pieces, now->block_bytes)) {
    const auto own = now_->newer(stub, range.begin, range.end);
    if (!own) return base::fail(own.error());
    for (const Extent& hole : without(range, *own))
      if (auto made = stub.punch(hole.begin, hole.end - hole.begin); !made) return made;
  }
  return stub.set_times(now->atime, now->mtime);
}

base::Result<void> SealedInode::put_record(File& stub, Draft& draft, bool first) {
  base::Result<void> done = make_holes(stub, draft);
  if (done && first) done = stub.set_hint(true);
  if (done) done = stub.set_attribute(record_name, encode(draft.record, store_.keys(), file_));
  if (done) set(std::make_shared<const SealedFile>(store_.chunks(), draft.record, std::move(draft.root)));
  return done;
}

// Blocks that the stub has bytes of are its own. False: that took something out of the file.
base::Result<bool> SealedInode::take_in(File& stub, Draft& draft, bool first, const Fill& fill) {
  for (const Extent& range : joined(draft.pieces, 1)) {
    const auto own = now_->newer(stub, range.begin, range.end);
    if (!own) return base::fail(own.error());
    for (const Extent& extent : *own)
      if (auto spilled = spill(stub, extent.begin, extent.end, draft.number, fill); !spilled)
        return base::fail(spilled.error());
  }
  if (now_ != draft.base) return false;
  if (auto put = put_record(stub, draft, first); !put) return base::fail(put.error());
  const std::uint64_t before = window_.slab_bytes();
  for (const WindowPiece& piece : draft.pieces) window_.erase_chunks(piece.begin, piece.end, draft.number);
  window_changed(before);
  windows_->sealed(draft.bytes);
  return true;
}

// False: something was taken out of the file meanwhile, or there is too little.
base::Result<bool> SealedInode::into_recipe(File& stub, std::uint32_t tree, const Fill& fill,
                                            const Around& around) {
  const Pins::Use use = store_.chunks().pins().use();
  auto draft = draft_window(stub);
  if (!draft) return base::fail(draft.error());
  if (draft->bytes < windows_->options().seal_bytes_min || draft->base->record().pending) return false;
  if (auto put = put_recipe(*draft); !put) return base::fail(put.error());
  if (draft->root.top.entries.empty()) return false;
  const bool first = draft->base->record().root == hashing::Digest();
  const RegistryEntry entry{RegistryKind::sealed, tree, draft->record.mapped, file_};
  if (first)
    if (auto noted = store_.registry()->append(std::span(&entry, 1)); !noted)
      return base::fail(noted.error());
  const Alone lock = alone();
  if (now_ != draft->base || edits_ != draft->edits) return false;
  base::Result<bool> taken = false;
  const auto done = around([&]() -> base::Result<void> {
    taken = take_in(stub, *draft, first, fill);
    return taken ? base::Result<void>() : base::fail(taken.error());
  });
  if (!done) return base::fail(done.error());
  return taken;
}

base::Result<void> SealedInode::close_window(File& stub, std::optional<std::uint32_t> tree, const Fill& fill,
                                             const Around& around) {
  if (windows_ == nullptr) return {};
  // What is here now is to be kept; what comes later may wait for the next one.
  std::uint64_t begun = 0;
  {
    const Shared lock = shared();
    begun = window_.last_number();
  }
  const std::scoped_lock cutting(cutting_);
  first_run_is_begun_ = false;
  const std::uint64_t bytes = window_bytes();
  if (bytes == 0) return {};
  bool sealed = false;
  if (tree && store_.registry() != nullptr && bytes >= windows_->options().seal_bytes_min &&
      !cutting_failed_) {
    const base::SystemClock clock;
    const base::TimePoint until = clock.now() + windows_->options().patience;
    const std::uint64_t run_bytes = windows_->options().run_bytes;
    for (auto more = cut_some(begun, run_bytes); more && *more && clock.now() < until;)
      more = cut_some(begun, run_bytes);
    base::Result<bool> put = false;
    for (int attempts = 0; put && !*put && attempts < attempts_max; ++attempts)
      put = into_recipe(stub, *tree, fill, around);
    sealed = put && *put;
    if (!put)
      base::log_event(base::Level::warning, "store_window_not_sealed", "{}; the file has its bytes",
                      base::message_of(put.error()));
  }
  const Alone lock = alone();
  if (window_.empty()) return {};
  // Later bytes that lie over what is to be kept are kept in its place.
  const bool is_apart = sealed && window_.last_overlay() <= begun;
  return around([&] { return spill(stub, 0, whole_file, is_apart ? begun : whole_file, fill); });
}

void SealedInode::lose_window() {
  const Alone lock = alone();
  if (windows_ == nullptr) return;
  keeps_no_window_ = true;
  windows_->lost(window_.bytes());
  const std::uint64_t before = window_.slab_bytes();
  window_.clear();
  window_changed(before);
}

}  // namespace braid::store
