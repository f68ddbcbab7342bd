#include "pnfs_ds/object_space.h"

#include <optional>

namespace braid::pnfs_ds {
namespace {

// What one look at the object says of the run of own bytes that `at` is in: what was found, or where to look
// next; nothing: there is no such byte any more.
using Step = std::optional<Sought>;

vfs::VfsOp<Step> step_to_hole(const OpenedObject& object, pnfs::Striping striping, SearchRange from) {
  const auto hole = co_await object.open->seek(from.offset, vfs::SeekTo::hole, from.end).as_result();
  if (!hole && hole.error() != vfs::Error::nxio) co_await base::fail(hole.error());
  // Behind the object's end.
  if (!hole) co_return Sought{.found = true, .offset = from.offset};
  const std::uint64_t run_end = striping.own_end(from.offset);
  if (hole->offset < run_end) co_return Sought{.found = true, .offset = hole->offset};
  co_return Sought{.found = false, .offset = run_end};
}

// A file system may tell of data where another server's bytes are, next to some that are this one's.
vfs::VfsOp<Step> step_to_data(const OpenedObject& object, pnfs::Striping striping, std::uint32_t index,
                              SearchRange from) {
  const auto data = co_await object.open->seek(from.offset, vfs::SeekTo::data, from.end).as_result();
  if (!data && data.error() != vfs::Error::nxio) co_await base::fail(data.error());
  if (!data || data->eof) co_return std::nullopt;
  const bool own = striping.own_from(index, data->offset) == data->offset;
  co_return Sought{.found = own, .offset = data->offset};
}

}  // namespace

vfs::VfsOp<Sought> seek(Objects& objects, pnfs::ObjectKey key, pnfs::Striping striping, SearchRange range,
                        vfs::SeekTo what) {
  const Sought none{.found = false, .offset = range.end};
  Objects::Use use(objects, key);
  use.begin();
  const Objects::Opened opened = co_await objects.find(use);
  for (int runs = 0;; ++runs) {
    const auto own = striping.own_from(key.index, range.offset);
    if (!own || *own >= range.end) co_return none;
    range.offset = *own;
    if (runs == seek_runs_max) co_return Sought{.found = false, .offset = range.offset};
    if (opened == nullptr && what == vfs::SeekTo::data) co_return none;
    if (opened == nullptr) co_return Sought{.found = true, .offset = range.offset};
    vfs::VfsOp<Step> stepping = what == vfs::SeekTo::hole ? step_to_hole(*opened, striping, range)
                                                          : step_to_data(*opened, striping, key.index, range);
    const Step step = co_await std::move(stepping);
    if (!step || step->offset >= range.end) co_return none;
    if (step->found) co_return *step;
    range.offset = step->offset;
  }
}

vfs::VfsOp<> allocate(Objects& objects, pnfs::ObjectKey key, pnfs::ObjectOwner owner,
                      std::vector<ByteRange> ranges, std::uint64_t number) {
  Objects::Use use(objects, key);
  use.begin();
  if (use.object().cut_begun() > number) co_await base::fail(vfs::Error::delay);
  if (objects.fences().is_removed(key)) co_await base::fail(vfs::Error::stale);
  Objects::Opened opened = co_await objects.find(use);
  if (opened == nullptr) opened = co_await objects.make(use, owner);
  for (const ByteRange& range : ranges) {
    const auto done = co_await opened->open->allocate(opened->owner, range.offset, range.length).as_result();
    // Some of it may be there even if not all is.
    use.object().changed.store(true, std::memory_order_relaxed);
    if (!done) co_await base::fail(done.error());
  }
}

vfs::VfsOp<> deallocate(Objects& objects, pnfs::ObjectKey key, ByteRange range) {
  Objects::Use use(objects, key);
  use.begin();
  const Objects::Opened opened = co_await objects.find(use);
  if (opened == nullptr) co_return;
  const auto done = co_await opened->open->deallocate(opened->owner, range.offset, range.length).as_result();
  use.object().changed.store(true, std::memory_order_relaxed);
  if (!done) co_await base::fail(done.error());
}

}  // namespace braid::pnfs_ds
