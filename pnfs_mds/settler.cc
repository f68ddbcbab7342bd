#include "pnfs_mds/settler.h"

#include <utility>
#include <vector>

#include "pnfs_mds/together.h"

namespace braid::pnfs_mds {
namespace {

// Files that are looked at together.
constexpr std::size_t batch_files = 32;

}  // namespace

vfs::VfsOp<> Settler::work() {
  std::vector<Truncations::Known> truncations = cluster_.truncations().unanswered(batch_files);
  for (const Truncations::Known& one : truncations) {
    if (stopped_()) co_return;
    (void)co_await finish(one).as_result();
  }
  pnfs::ObjectId after{};
  while (!stopped_()) {
    std::vector<DirtyLog::Known> files = cluster_.dirty().look(after, batch_files);
    if (!files.empty()) after = files.back().object;
    std::vector<vfs::VfsOp<>> ops;
    ops.reserve(files.size());
    for (DirtyLog::Known& file : files) ops.push_back(settle(file));
    (void)co_await together(std::move(ops)).as_result();
    co_await cluster_.dirty().clean(files);
    if (files.size() < batch_files) co_return;
  }
}

// Whoever looks at the attributes finishes it.
vfs::VfsOp<> Settler::finish(Truncations::Known truncation) {
  const auto reached = co_await reach_(truncation.file).as_result();
  if (!reached && reached.error() == vfs::Error::stale) cluster_.truncations().forget(truncation.object);
  if (!reached) co_return;
  (void)co_await reached->file_system->getattr(reached->file).as_result();
}

vfs::VfsOp<> Settler::settle(DirtyLog::Known& file) {
  if (std::exchange(file.settled, false) && !file.rests) co_return;
  if (file.file.size == 0 || cluster_.source().has_writers(file.object)) co_return;
  const auto reached = co_await reach_(file.file).as_result();
  if (!reached && reached.error() == vfs::Error::stale) cluster_.dirty().forget(file.object);
  if (!reached) co_return;
  co_await reached->file_system->getattr(reached->file);
  // Somebody may go on: who appends again and again costs no sync of the stub, nor of the log.
  if (!file.rests || cluster_.dirty().version_of(file.object) != file.version) co_return;
  const auto stub = co_await reached->file_system->stub(reached->file, cluster_.source());
  co_await stub->sync();
  // Of a change that began meanwhile, and has that version, the stub does not tell.
  file.settled = !cluster_.source().has_writers(file.object);
}

}  // namespace braid::pnfs_mds
