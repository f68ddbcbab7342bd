#include "pnfs_ds/objects.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace braid::pnfs_ds {

vfs::VfsOp<> Objects::close_all(std::vector<Opened> forgotten) {
  for (Opened& one : forgotten) {
    vfs::OpenFileRef last = one->open;
    one.reset();
    (void)co_await files_.close(std::move(last)).as_result();
  }
}

vfs::VfsOp<> Objects::close_idle(std::uint32_t rounds) { return close_all(cache_.forget_idle(rounds)); }

vfs::VfsOp<Objects::Opened> Objects::find(Use& use) {
  if (!use.got_.forgotten.empty()) co_await close_forgotten(use);
  if (Opened known = use.object().opened()) co_return std::move(known);
  const Turn::Hold turn = co_await use.object().turn.take();
  co_return co_await open(use.object());
}

// By whoever has the turn.
vfs::VfsOp<Objects::Opened> Objects::open(Object& object) {
  if (Opened known = object.opened()) co_return std::move(known);
  auto opened = co_await files_.open(object.key);
  if (!opened) co_return Opened();
  auto shared = std::make_shared<const OpenedObject>(std::move(*opened));
  object.set_opened(shared);
  co_return std::move(shared);
}

vfs::VfsOp<Objects::Opened> Objects::make(Use& use, ObjectOwner owner) {
  const Turn::Hold turn = co_await use.object().turn.take();
  Opened known = co_await open(use.object());
  if (known) co_return std::move(known);
  OpenedObject made = co_await files_.make(use.object().key, owner, cluster_());
  auto shared = std::make_shared<const OpenedObject>(std::move(made));
  use.object().set_opened(shared);
  co_return std::move(shared);
}

vfs::VfsOp<vfs::WriteResult> Objects::write(Use& use, Opened opened, std::uint64_t offset, io::Payload data,
                                            vfs::Stability stability) {
  auto done = co_await opened->open->write(opened->owner, offset, data, stability).as_result();
  // Some bytes may be there even if not all are.
  use.object().changed.store(true, std::memory_order_relaxed);
  co_return co_await std::move(done);
}

vfs::VfsOp<vfs::Verifier> Objects::commit(Use& use) {
  const Opened opened = co_await find(use);
  if (!opened) co_return verifier();
  co_return co_await opened->open->commit(opened->owner, 0, 0);
}

vfs::VfsOp<Objects::Stat> Objects::stat(ObjectKey key, bool stay_announced) {
  Use use(*this, key);
  Stat out;
  // Before looking: what is written from now on is a change for the next one who asks.
  if (!stay_announced) use.object().note_asked();
  out.changed = use.object().changed.exchange(false, std::memory_order_acq_rel);
  const Opened opened = co_await find(use);
  if (!opened) co_return out;
  const vfs::Attributes now = co_await stat_of(*opened);
  out.end = now.size;
  out.space = now.space;
  co_return out;
}

vfs::VfsOp<> Objects::fence(std::vector<FenceRecord> fences) {
  std::vector<ObjectKey> of;
  bool of_all = false;
  for (const FenceRecord& one : fences) {
    if (const auto* epoch = std::get_if<EpochFence>(&one))
      of.push_back(epoch->of);
    else if (const auto* removed = std::get_if<RemovedObject>(&one))
      of.push_back(removed->of);
    else
      of_all = true;
  }
  // What is in force is on the medium. I/O is waited for all the same: somebody else's fence may have come
  // just before.
  std::erase_if(fences, [this](const FenceRecord& one) { return fences_.in_force(one); });
  if (!fences.empty()) {
    const auto added = co_await log_.add(std::move(fences)).as_result();
    if (!added)
      co_await base::fail(added.error() == base::errno_of(EAGAIN) ? vfs::Error::delay : vfs::Error::io);
  }
  std::vector<ObjectRef> busy = cache_.busy();
  for (const ObjectRef& object : busy)
    if (of_all || std::ranges::find(of, object->key) != of.end()) co_await object->running.earlier_ended();
}

vfs::VfsOp<> Objects::cut(ObjectKey key, std::uint64_t number, std::uint64_t end) {
  Use use(*this, key);
  co_await close_forgotten(use);
  use.object().note_cut_begun(number);
  co_await use.object().running.earlier_ended();
  const Turn::Hold turn = co_await use.object().turn.take();
  // The metadata server takes the file for settled by this: what is written from now on is told once more.
  use.object().note_asked();
  if (use.object().last_cut >= number) co_return;
  const Opened opened = co_await open(use.object());
  if (opened) {
    vfs::SetAttributes set;
    set.size = end;
    co_await opened->open->set(opened->owner, set);
  }
  use.object().last_cut = number;
}

vfs::VfsOp<> Objects::remove(ObjectKey key) {
  Use use(*this, key);
  co_await close_forgotten(use);
  co_await use.object().running.earlier_ended();
  const Turn::Hold turn = co_await use.object().turn.take();
  Opened opened = use.object().opened();
  use.object().set_opened(nullptr);
  co_await files_.remove(key);
  if (!opened) co_return;
  vfs::OpenFileRef last = opened->open;
  opened.reset();
  (void)co_await files_.close(std::move(last)).as_result();
}

}  // namespace braid::pnfs_ds
