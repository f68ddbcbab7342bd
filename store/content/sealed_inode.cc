#include "store/content/sealed_inode.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "store/recipes/recipe.h"
#include "store/recipes/recipe_edit.h"
#include "store/sealing/sealer.h"

namespace braid::store {
namespace {

constexpr std::uint64_t no_end = std::numeric_limits<std::uint64_t>::max();

std::uint64_t block_begin(std::uint64_t offset, std::uint64_t block) { return offset / block * block; }

}  // namespace

SealedInode::Shared SealedInode::shared() {
  const std::scoped_lock gate(gate_);
  return Shared(users_);
}

SealedInode::Alone SealedInode::alone() {
  ++waiting_;
  const std::scoped_lock gate(gate_);
  Alone out(users_);
  --waiting_;
  return out;
}

void SealedInode::set(std::shared_ptr<const SealedFile> next) {
  own_.clear();
  now_ = std::move(next);
  mapped_.store(now_->record().mapped, std::memory_order_relaxed);
  records_.fetch_add(1, std::memory_order_acq_rel);
}

base::Result<void> SealedInode::load(const std::optional<base::Bytes>& record) {
  const Alone lock = alone();
  return now_ != nullptr ? base::Result<void>() : take_record(record);
}

base::Result<void> SealedInode::replace(File& stub, const std::function<base::Result<void>()>& work) {
  const Alone lock = alone();
  if (!window_.empty()) return base::fail(EAGAIN);
  ++edits_;
  const base::Result<void> done = work();
  const auto record = stub.attribute(record_name);
  if (!record) return base::fail(record.error());
  const base::Result<void> taken = take_record(*record);
  return done ? taken : done;
}

bool SealedInode::is_plain() {
  const Shared lock = shared();
  return now_->root().top.entries.empty() && !now_->record().pending;
}

std::optional<Record> SealedInode::record() {
  const Shared lock = shared();
  if (now_ == nullptr || now_->record().root == hashing::Digest()) return std::nullopt;
  return now_->record();
}

base::Result<void> SealedInode::take_record(const std::optional<base::Bytes>& record) {
  if (!record) {
    set(std::make_shared<const SealedFile>(store_.chunks(), Record{}, Root{}));
    return {};
  }
  auto opened = SealedFile::open(store_.chunks(), store_.keys(), file_, *record);
  if (!opened) return base::fail(opened.error());
  set(std::move(*opened));
  return {};
}

base::Result<void> SealedInode::read(File& stub, std::uint64_t offset, base::MutableBytes to) {
  const Shared lock = shared();
  const std::vector<WindowPiece> newest = window_.pieces(offset, offset + to.size());
  std::uint64_t bytes = 0;
  for (const WindowPiece& piece : newest) bytes += piece.end - piece.begin;
  const base::Result<void> done =
      bytes == to.size() && bytes > 0 ? base::Result<void>() : now_->read(stub, offset, to);
  return done && bytes > 0 ? overlay(newest, offset, to) : done;
}

// Who comes so does not stand at the gate: it gives way to those who wait to be alone.
bool SealedInode::locate(std::uint64_t offset, std::uint32_t count, const vfs::Content::Look& look,
                         vfs::Located& where) {
  if (waiting_.load() > 0) return false;
  const Shared lock(users_, std::try_to_lock);
  if (!lock.owns_lock() || now_ == nullptr || now_->record().pending || !window_.empty()) return false;
  const auto inode = look();
  if (!inode || inode->space > 0) return false;
  where.size = inode->size;
  if (offset >= inode->size) return true;
  return now_->locate(offset, offset + std::min<std::uint64_t>(count, inode->size - offset), where);
}

bool SealedInode::as_plain(std::uint64_t offset, std::uint64_t length, vfs::Content::Steps steps,
                           const vfs::Content::Look& look, const std::function<void()>& work) {
  if (waiting_.load() > 0) return false;
  {
    const Shared lock(users_, std::try_to_lock);
    if (!lock.owns_lock() || now_ == nullptr || now_->record().pending) return false;
    written_.note(offset, offset + length);
    if (windows_ != nullptr && wants(offset, offset + length)) return false;
    const bool plain = now_->root().top.entries.empty();
    if (plain || own_.has(offset, offset + length)) {
      const auto inode = plain ? vfs::Content::Inode() : look();
      if (!inode || (!plain && offset + length > inode->size)) return false;
      work();
      return true;
    }
  }
  return steps == vfs::Content::Steps::one && over_whole_blocks(offset, offset + length, look, work);
}

// Nothing is left of what the recipe has there: nobody needs to know what that is. A page is written in one
// step, so a crash leaves the old bytes of a block or the new ones.
bool SealedInode::over_whole_blocks(std::uint64_t begin, std::uint64_t end, const vfs::Content::Look& look,
                                    const std::function<void()>& work) {
  if (begin % OwnBlocks::block_bytes != 0 || end % OwnBlocks::block_bytes != 0) return false;
  const Alone lock(users_, std::try_to_lock);
  if (!lock.owns_lock() || now_->record().pending) return false;
  written_.note(begin, end);
  if (windows_ != nullptr && wants(begin, end)) return false;
  const auto inode = look();
  if (!inode || end > inode->size || inode->block_bytes > OwnBlocks::block_bytes) return false;
  work();
  return true;
}

base::Result<std::uint64_t> SealedInode::seek(File& stub, std::uint64_t offset, bool data,
                                              std::uint64_t size) {
  const Shared lock = shared();
  std::vector<Extent> newest;
  for (const WindowPiece& piece : window_.pieces(offset, size))
    if (piece.kind != WindowPiece::Kind::zeros) newest.push_back({piece.begin, piece.end});
  return now_->seek(stub, offset, data, size, newest);
}

bool SealedInode::reaches_behind(std::uint64_t offset) const {
  const std::vector<NodeEntry>& entries = now_->root().top.entries;
  return !entries.empty() && entries.back().end() > offset;
}

// A block that nobody has written to yet is zeros in the stub until write(2) has ended, and its other bytes
// come from the recipe: nobody may look meanwhile.
base::Result<bool> SealedInode::waits_for_others(File& stub, std::uint64_t offset, std::uint64_t end) {
  if (now_->record().pending || window_.touches(offset, end)) return true;
  if (now_->root().top.entries.empty()) return false;
  const auto status = stub.status();
  if (!status) return base::fail(status.error());
  if (end > status->size && reaches_behind(status->size)) return true;
  if (end <= status->size && own_.has(offset, end)) return false;
  const std::uint64_t begin = block_begin(std::min(offset, status->size), status->block_bytes);
  const std::uint64_t blocks_end = std::min(rounded_up(end, status->block_bytes), status->size);
  const auto shows = now_->shows_through(stub, begin, blocks_end);
  if (shows && !*shows) own_.add(begin, blocks_end);
  return shows;
}

base::Result<void> SealedInode::write(File& stub, std::uint64_t offset, std::uint64_t length,
                                      const Fill& fill, const Put& put) {
  const std::uint64_t end = offset + length;
  {
    const Shared lock = shared();
    written_.note(offset, end);
    const auto waits = length == 0 ? base::Result<bool>(false) : waits_for_others(stub, offset, end);
    if (!waits) return base::fail(waits.error());
    if (!*waits) return put({}, {});
  }
  const Alone lock = alone();
  written_.note(offset, end);
  const auto spilled = spill(stub, offset, end, window_.last_number(), fill);
  return spilled ? write_alone(stub, offset, end, fill, put) : spilled;
}

base::Result<void> SealedInode::write_alone(File& stub, std::uint64_t offset, std::uint64_t end,
                                            const Fill& fill, const Put& put) {
  base::Result<void> done = finish(stub);
  if (done) done = before_growing(stub, end, fill);
  const auto status = done ? stub.status() : base::fail(done.error());
  if (!status) return base::fail(status.error());
  const std::uint64_t block = status->block_bytes;
  const std::uint64_t begin = block_begin(offset, block);
  const std::uint64_t last_end = std::min(rounded_up(end, block), status->size);
  const auto shows_before = now_->shows_through(stub, begin, std::min(offset, status->size));
  const auto shows_after = now_->shows_through(stub, end, last_end);
  if (!shows_before || !shows_after)
    return base::fail(shows_before ? shows_after.error() : shows_before.error());
  base::Bytes before(*shows_before ? static_cast<std::size_t>(offset - begin) : 0),
      after(*shows_after ? static_cast<std::size_t>(last_end - end) : 0);
  if (!before.empty()) done = now_->read(stub, begin, before);
  if (done && !after.empty()) done = now_->read(stub, end, after);
  return done ? put(before, after) : done;
}

base::Result<void> SealedInode::resize(File& stub, std::uint64_t size, const Fill& fill,
                                       const Change& resize) {
  const Alone lock = alone();
  base::Result<void> done = finish(stub);
  if (done) done = before_growing(stub, size, fill);
  const auto status = done ? stub.status() : base::fail(done.error());
  if (!status) return base::fail(status.error());
  written_.note(std::min(size, status->size), no_end);
  if (size < status->size) done = own_block(stub, size, *status, fill);
  if (done) done = resize();
  if (done) erase_window(size, no_end);
  return done;
}

base::Result<void> SealedInode::deallocate(File& stub, std::uint64_t offset, std::uint64_t length,
                                           const Fill& fill, const Change& punch) {
  const Alone lock = alone();
  base::Result<void> done = finish(stub);
  const auto status = done ? stub.status() : base::fail(done.error());
  if (!status) return base::fail(status.error());
  const std::uint64_t end = offset + length;
  written_.note(offset, end);
  done = take_out(stub, offset, end, status->size);
  if (done && offset < status->size) done = own_block(stub, offset, *status, fill);
  if (done && end < status->size) done = own_block(stub, end, *status, fill);
  if (done) done = punch();
  if (done) erase_window(offset, end);
  return done;
}

base::Result<void> SealedInode::allocate(File& stub, std::uint64_t offset, std::uint64_t length,
                                         const Fill& fill, const Change& allocate) {
  constexpr std::uint64_t slice = 4 * base::MiB;
  const std::uint64_t end = offset + length;
  for (std::uint64_t at = offset;;) {
    const Alone lock = alone();
    written_.note(offset, end);
    base::Result<void> done = finish(stub);
    if (done) done = spill(stub, offset, end, window_.last_number(), fill);
    if (!done) return done;
    const auto status = done ? stub.status() : base::fail(done.error());
    if (!status) return base::fail(status.error());
    const std::uint64_t begin = block_begin(at, status->block_bytes);
    const std::uint64_t stop = std::min({end, begin + slice, status->size});
    if (begin < stop) done = now_->fill(stub, begin, stop, status->size, fill);
    if (!done) return done;
    if (begin + slice < std::min(end, status->size)) {
      at = begin + slice;
      continue;
    }
    done = before_growing(stub, end, fill);
    return done ? allocate() : done;
  }
}

bool SealedInode::has_steps() {
  const Shared lock = shared();
  return now_->record().pending;
}

base::Result<void> SealedInode::do_steps(File& stub) {
  const Alone lock = alone();
  return finish(stub);
}

base::Result<SealedInode::Sealed> SealedInode::sealed_from(File& stub, std::uint64_t begin,
                                                           std::uint64_t end) {
  const Shared lock = shared();
  if (now_->record().pending) return Sealed{.of = now_, .range = {begin, begin}};
  const std::vector<WindowPiece> newest = window_.pieces(begin, end);
  if (!newest.empty()) end = newest.front().begin;
  const auto own = now_->newer(stub, begin, end);
  if (!own) return base::fail(own.error());
  if (!own->empty()) end = std::max(begin, own->front().begin);
  if (auto referred = refer_to(now_->root().top, begin, end); !referred) return base::fail(referred.error());
  return Sealed{.of = now_, .range = {begin, end}};
}

// Where a container was rewritten, what is left of it says where its chunks are: both are kept.
base::Result<void> SealedInode::refer_to(const Node& top, std::uint64_t begin, std::uint64_t end) {
  std::map<std::uint32_t, bool> known;  // whether it was rewritten
  return walk_chunks(store_.chunks(), top, begin, end, [&](const ChunkRef& chunk) -> base::Result<void> {
    for (Location at = chunk.at;;) {
      auto found = known.find(at.container);
      if (found == known.end()) {
        if (!store_.chunks().pins().refer(at.container)) return base::fail(EAGAIN);
        const auto rewritten = store_.containers().is_forwarding(at.container);
        if (!rewritten) return base::fail(rewritten.error());
        found = known.emplace(at.container, *rewritten).first;
      }
      if (!found->second) return {};
      const auto next = store_.containers().forwarded(at);
      if (!next) return base::fail(next.error());
      if (!*next) return {};
      at = **next;
    }
  });
}

base::Result<bool> SealedInode::splice(File& stub, const Sealed& from, std::uint64_t to, std::uint32_t tree,
                                       const Fill& fill, const Resize& resize) {
  const std::uint64_t end = to + (from.range.end - from.range.begin);
  const Alone lock = alone();
  written_.note(to, end);
  base::Result<void> done = finish(stub);
  const auto status = done ? stub.status() : base::fail(done.error());
  if (!status) return base::fail(status.error());
  const std::uint64_t block = status->block_bytes;
  // The block that the file ends in becomes the stub's own when it grows.
  const bool ends_within = status->size % block != 0 && to < rounded_up(status->size, block);
  if (end > status->size && ends_within) return false;
  if (done = before_growing(stub, end, fill); !done) return base::fail(done.error());
  const auto own = now_->newer(stub, block_begin(to, block), std::min(rounded_up(end, block), status->size));
  if (!own) return base::fail(own.error());
  if (!own->empty()) return false;
  if (done = resize(std::max(end, status->size)); !done) return base::fail(done.error());
  if (done = put_spliced(stub, from, to, tree); !done) return base::fail(done.error());
  erase_window(to, end);
  return true;
}

base::Result<void> SealedInode::put_spliced(File& stub, const Sealed& from, std::uint64_t to,
                                            std::uint32_t tree) {
  ChunkStore& chunks = store_.chunks();
  const auto status = stub.status();
  if (!status) return base::fail(status.error());
  auto recipe = with_spliced(chunks, {now_->root().top, now_->record().mapped},
                             {from.of->root().top, from.of->record().mapped}, from.range, to, status->size);
  if (!recipe) return base::fail(recipe.error());
  const bool had_none = now_->record().root == hashing::Digest();
  if (recipe->top.entries.empty()) return had_none ? base::Result<void>() : give_up_record(stub);
  Root root{.size = status->size,
            .mtime = status->mtime,
            .ctime = status->ctime,
            .steps = {},
            .top = std::move(recipe->top)};
  const auto kept = chunks.put(ChunkKind::root, encode(root));
  if (!kept) return base::fail(kept.error());
  const Record record{.root = kept->id, .at = kept->at, .mapped = recipe->mapped};
  base::Result<void> done = chunks.sync();
  if (done && had_none) {
    const RegistryEntry entry{RegistryKind::sealed, tree, record.mapped, file_};
    done = store_.registry()->append(std::span(&entry, 1));
    if (done) done = stub.set_hint(true);
  }
  if (done) done = stub.set_attribute(record_name, encode(record, store_.keys(), file_));
  if (done) set(std::make_shared<const SealedFile>(chunks, record, std::move(root)));
  return done;
}

base::Result<void> SealedInode::finish(File& stub) {
  if (!now_->record().pending) return {};
  const auto finished = finish_steps(store_, stub, file_, *now_);
  if (!finished) return base::fail(finished.error());
  Record record = *finished ? now_->record() : Record{};
  record.pending = record.unsealing = false;
  Root root = *finished ? now_->root() : Root{};
  set(std::make_shared<const SealedFile>(store_.chunks(), record, std::move(root)));
  return {};
}

base::Result<void> SealedInode::before_growing(File& stub, std::uint64_t end, const Fill& fill) {
  if (now_->root().top.entries.empty()) return {};
  const auto status = stub.status();
  if (!status) return base::fail(status.error());
  if (end <= status->size) return {};
  base::Result<void> done = take_out(stub, status->size, no_end, status->size);
  return done ? own_block(stub, status->size, *status, fill) : done;
}

base::Result<void> SealedInode::own_block(File& stub, std::uint64_t offset, const FileStatus& status,
                                          const Fill& fill) {
  const std::uint64_t begin = block_begin(offset, status.block_bytes);
  if (begin == offset) return {};
  return now_->fill(stub, begin, offset, status.size, fill);
}

base::Result<void> SealedInode::take_out(File& stub, std::uint64_t begin, std::uint64_t end,
                                         std::uint64_t size) {
  if (end >= size) end = no_end;
  begin = std::min(begin, size);
  if (!reaches_behind(begin)) return {};
  if (begin == 0 && end == no_end) return give_up_record(stub);
  ChunkStore& chunks = store_.chunks();
  const Node& old = now_->root().top;
  const auto taken = mapped_within(chunks, old, begin, end),
             behind = mapped_within(chunks, old, std::max(end, size), no_end);
  if (!taken || !behind) return base::fail(taken ? behind.error() : taken.error());
  if (*taken + *behind == 0) return {};
  const Pins::Use use = chunks.pins().use();
  auto top = without_range(chunks, now_->root().top, begin, end);
  if (top && end != no_end) top = without_range(chunks, *top, size, no_end);
  if (!top) return base::fail(top.error());
  if (top->entries.empty()) return give_up_record(stub);
  Root root{.size = size,
            .mtime = now_->root().mtime,
            .ctime = now_->root().ctime,
            .steps = {},
            .top = std::move(*top)};
  const auto kept = chunks.put(ChunkKind::root, encode(root));
  if (!kept) return base::fail(kept.error());
  const Record record{.root = kept->id,
                      .at = kept->at,
                      .mapped = now_->record().mapped - std::min(now_->record().mapped, *taken + *behind)};
  base::Result<void> done = chunks.sync();
  if (done) done = stub.set_attribute(record_name, encode(record, store_.keys(), file_));
  if (!done) return done;
  set(std::make_shared<const SealedFile>(chunks, record, std::move(root)));
  return {};
}

// Nothing is left of the recipe: it is a plain file.
base::Result<void> SealedInode::give_up_record(File& stub) {
  if (auto removed = stub.remove_attribute(record_name); !removed) return removed;
  (void)stub.set_hint(false);
  if (former_versions_ != nullptr) former_versions_->note(file_, now_);
  set(std::make_shared<const SealedFile>(store_.chunks(), Record{}, Root{}));
  return {};
}

}  // namespace braid::store
