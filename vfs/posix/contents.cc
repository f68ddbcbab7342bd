#include "vfs/posix/contents.h"

#include <algorithm>
#include <utility>

#include "vfs/posix/file_system.h"
#include "vfs/posix/stub.h"

namespace braid::vfs::posix {
std::uint64_t FrozenTimes::begin(const Attributes& now, const ChangeCounter::Look& seen) {
  const std::uint64_t number = state_.with([&](State& state) {
    state = {state.number + 1, true, seen, now.mtime, now.ctime, now.change};
    return state.number;
  });
  on_.store(true, std::memory_order_release);
  return number;
}

void FrozenTimes::end(std::uint64_t number) {
  state_.with([&](State& state) {
    if (state.number != number) return;
    state.on = false;
    on_.store(false, std::memory_order_release);
  });
}

void FrozenTimes::apply_now(const ChangeCounter& changes, Attributes& attributes) const {
  state_.with([&](const State& state) {
    if (!state.on || !changes.none_since(state.seen)) return;
    attributes.mtime = state.mtime;
    attributes.ctime = state.ctime;
    attributes.change = state.change;
  });
}

void adjust(const PosixFile& file, Attributes& attributes) {
  if (file.content() == nullptr) return;
  const auto use = file.content()->slot.enter();
  if (use && use->content() != nullptr) use->content()->adjust(attributes);
  file.content()->frozen.apply(file.changes(), attributes);
}

bool adjust_if_settled(const PosixFile& file, Attributes& attributes) {
  if (file.content() == nullptr) return true;
  const auto use = file.content()->slot.enter();
  const Content* const content = use ? use->content() : nullptr;
  if (content != nullptr && content->unsettled()) return false;
  if (content != nullptr) content->adjust(attributes);
  file.content()->frozen.apply(file.changes(), attributes);
  return true;
}

bool is_settled(const PosixFile& file) {
  if (file.content() == nullptr) return true;
  const std::optional<ContentSlot::Use> use = file.content()->slot.enter();
  return use && (use->content() == nullptr || !use->content()->unsettled());
}

void note_made(const PosixFile& file, const PosixFile& directory, const Attributes& made) {
  if (file.content() == nullptr) return;
  file.content()->made_at.store(nanoseconds_of(made.ctime), std::memory_order_relaxed);
  file.content()->made_in.store(directory.identity().fileid, std::memory_order_release);
}

void tell_gone(const PosixFile& file) {
  if (file.content() == nullptr) return;
  ContentRef content = file.content()->slot.content();
  if (content == nullptr || file.content()->gone.exchange(true)) return;
  ContentSource& source = content->source();
  source.gone(std::move(content));
}

bool Contents::has(const ContentSource& source) const {
  return std::ranges::find(sources_, &source) != sources_.end();
}

bool Contents::takes_pipes() const {
  return std::ranges::all_of(sources_, [](const ContentSource* source) { return source->takes_pipes(); });
}

VfsOp<ContentSlot::Use> Contents::use(PosixFile& file) {
  std::optional<ContentSlot::Use> use = file.content()->slot.enter();
  if (use) return VfsOp<ContentSlot::Use>(std::move(*use));
  return file.content()->slot.acquire([this, &file] { return load(file); });
}

VfsOp<ContentSlot::Use> Contents::use_new(PosixFile& file) {
  std::optional<ContentSlot::Use> use = file.content()->slot.enter();
  if (use) return VfsOp<ContentSlot::Use>(std::move(*use));
  return file.content()->slot.acquire([] { return VfsOp<ContentRef>(ContentRef()); });
}

bool Contents::want_removals() const {
  return std::ranges::any_of(sources_, [](const ContentSource* source) { return source->wants_removals(); });
}

// A source's records are looked for in the order of the sources; a file has one of them.
Outcome<Contents::Record> Contents::find_record(const PosixFile& file) const {
  for (ContentSource* const source : sources_) {
    auto found = record_of(file, source->record());
    if (!found) return base::fail(found.error());
    if (*found) return Record{source, std::move(**found)};
  }
  return Record{};
}

VfsOp<ContentRef> Contents::load(PosixFile& file) {
  const Record found =
      co_await fs_.placement().run(Call::getattr, [this, &file] { return find_record(file); });
  if (found.source == nullptr) co_return ContentRef();
  PosixStub stub(fs_, file, *found.source);
  ContentRef content = co_await found.source->load(stub, found.bytes);
  if (content == nullptr) co_await base::fail(Error::io);
  co_return std::move(content);
}

VfsOp<bool> Contents::settle(PosixFile& file) {
  bool unsettled = false;
  {
    base::Result<ContentSlot::Use, Error> found = co_await use(file).as_result();
    // Who cannot have the bytes can look at the file, and remove it.
    if (!found && found.error() == Error::io) co_return false;
    if (!found) co_await base::fail(found.error());
    if (found->content() == nullptr) co_return false;
    unsettled = found->content()->unsettled();
  }
  if (unsettled) co_await file.content()->settling.run([this, &file] { return settle_once(file); });
  co_return true;
}

// A change by nobody's call: who looks at the file before and after its own does not take it for that.
VfsOp<> Contents::settle_once(PosixFile& file) {
  const ContentSlot::Use use = co_await this->use(file);
  Content* const content = use.content();
  if (content == nullptr || !content->unsettled()) co_return;
  const ChangeCounter::Look begun = file.changes().begin();
  PosixStub stub(fs_, file, content->source());
  base::Result<void, Error> settled = co_await content->settle(stub).as_result();
  file.changes().changed();
  file.changes().end(begun);
  co_await std::move(settled);
}

// The rights are asked for here, too: who may not write places nothing.
Outcome<bool> Contents::may_be_placed(const FileData& writer, const Credentials& who) const {
  std::optional<Change> change;
  if (auto begun = writer.begin_change(who, nullptr, Changes::nothing, change); !begun)
    return base::fail(begun.error());
  const auto now = fs_.tree().observe(writer.node());
  if (!now) return base::fail(now.error());
  return now->size == 0;
}

VfsOp<> Contents::offer(const FileData& writer, const Credentials& who, PlacementHint hint) {
  PosixFile& file = writer.node();
  if (file.content()->offered.load(std::memory_order_relaxed)) co_return;
  bool fit = false;
  {
    const ContentSlot::Use now = co_await use(file);
    fit = now.content() == nullptr;
  }
  if (fit)
    fit = co_await fs_.placement().run(Call::getattr,
                                       [this, &writer, &who] { return may_be_placed(writer, who); });
  for (ContentSource* const source : sources_) {
    if (!fit || !source->places_at_first_write()) continue;
    const ContentRef placed = co_await place(file, *source, hint);
    if (placed != nullptr) break;
  }
  file.content()->offered.store(true, std::memory_order_relaxed);
}

VfsOp<ContentRef> Contents::content(PosixFile& file) {
  {
    const ContentSlot::Use known = co_await use(file);
  }
  co_return file.content()->slot.content();
}

VfsOp<ContentRef> Contents::exchange(PosixFile& file, ContentRef next) {
  {
    const ContentSlot::Use known = co_await use(file);
  }
  base::Result<ContentRef> former = co_await file.content()->slot.exchange(std::move(next)).as_result();
  file.changes().changed();
  if (!former) co_await base::fail(Error::server_fault);
  co_return std::move(*former);
}

// What is frozen stays so until calls have the content that goes on hiding it.
VfsOp<ContentRef> Contents::place(PosixFile& file, ContentSource& source, PlacementHint hint) {
  std::uint64_t frozen = 0;
  base::Result<ContentRef, Error> placed =
      co_await file.content()
          ->slot
          .replace([this, &file] { return load(file); },
                   [this, &file, &source, hint, &frozen](const ContentRef& former) {
                     return replace(file, source, hint, former, frozen);
                   })
          .as_result();
  if (frozen != 0) file.content()->frozen.end(frozen);
  co_return co_await std::move(placed);
}

VfsOp<ContentRef> Contents::replace(PosixFile& file, ContentSource& source, PlacementHint hint,
                                    const ContentRef& former, std::uint64_t& frozen) {
  if (former != nullptr && &former->source() != &source) co_await base::fail(Error::exist);
  PosixStub stub(fs_, file, source);
  base::Result<ContentRef, Error> placed = co_await source.place(stub, former, hint).as_result();
  frozen = stub.leave_frozen();
  if (frozen == 0) file.changes().changed();
  co_return co_await std::move(placed);
}

void Contents::note_changing(PosixFile& file) const {
  FileContent& content = *file.content();
  if (content.changing.load(std::memory_order_relaxed) || content.changing.exchange(true)) return;
  for (ContentSource* const source : sources_) source->changing(file.handle());
}

void Contents::adjust_unloaded(const FileHandle& file, Attributes& attributes) const {
  for (const ContentSource* const source : sources_) source->adjust_unloaded(file, attributes);
}

// It is the last name if each call that is about to take one gets one: the calls that take the others count
// themselves before they look, too.
VfsOp<> Contents::removing(PosixFile& file) {
  base::Result<ContentSlot::Use, Error> use = co_await this->use(file).as_result();
  if (!use && use.error() == Error::io) co_return;
  if (!use) co_await base::fail(use.error());
  Content* const content = use->content();
  if (content == nullptr) co_return;
  const Stat now = co_await fs_.placement().run(Call::getattr, [&file] { return stat_of(file.fd()); });
  if (now.stx_nlink > file.content()->removals.load()) co_return;
  PosixStub stub(fs_, file, content->source());
  co_await content->source().removing(stub, *content);
}

VfsOp<> Contents::adjust(FileSystemStatus& status) {
  for (ContentSource* const source : sources_) co_await source->adjust(status);
}

void Contents::limit(FileSystemLimits& limits) const {
  for (const ContentSource* const source : sources_) source->limit(limits);
}

}  // namespace braid::vfs::posix
