#include "pnfs_mds/layouts/waiting_files.h"

#include <utility>

#include "base/assert.h"

namespace braid::pnfs_mds::layouts {

io::Op<> Waiter::until(base::TimePoint deadline) {
  if (!woken_) (void)co_await timer_.until(deadline);
}

void Waiter::wake() {
  reactor_.post([self = shared_from_this()] {
    self->woken_ = true;
    self->timer_.cancel();
  });
}

void WaitingFiles::forget_if_unused(Files::iterator file) {
  const File& state = file->second;
  if (state.bars == 0 && state.pauses == 0 && state.waiters.empty()) files_.erase(file);
}

void WaitingFiles::wake(File& file) {
  for (const std::weak_ptr<Waiter>& waiter : std::exchange(file.waiters, {}))
    if (const std::shared_ptr<Waiter> there = waiter.lock()) there->wake();
}

void WaitingFiles::end_bar(const vfs::FileHandle& file) {
  const auto found = files_.find(file);
  base::check(found != files_.end() && found->second.bars > 0, "a bar ends once");
  --found->second.bars;
  wake(found->second);
  forget_if_unused(found);
}

bool WaitingFiles::barred(const vfs::FileHandle& file) const {
  const auto found = files_.find(file);
  return found != files_.end() && found->second.bars > 0;
}

void WaitingFiles::end_pause(const vfs::FileHandle& file) {
  const auto found = files_.find(file);
  base::check(found != files_.end() && found->second.pauses > 0, "a pause ends once");
  --found->second.pauses;
  forget_if_unused(found);
}

bool WaitingFiles::paused(const vfs::FileHandle& file) const {
  const auto found = files_.find(file);
  return found != files_.end() && found->second.pauses > 0;
}

void WaitingFiles::wake(const vfs::FileHandle& file) {
  const auto found = files_.find(file);
  if (found == files_.end()) return;
  wake(found->second);
  forget_if_unused(found);
}

void WaitingFiles::wake_all() {
  for (auto& [handle, file] : files_) wake(file);
}

}  // namespace braid::pnfs_mds::layouts
