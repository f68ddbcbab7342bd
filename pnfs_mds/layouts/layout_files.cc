#include "pnfs_mds/layouts/layout_files.h"

#include <utility>

namespace braid::pnfs_mds::layouts {

LayoutFiles::Hold LayoutFiles::hold(LayoutFile file) {
  const pnfs::ObjectId object = file.striped->object();
  // Made outside of the lock, and dropped there if it is not needed.
  const auto release = [this, object](const LayoutFile* held) {
    delete held;
    forget(object);
  };
  Hold made(new LayoutFile(std::move(file)), release);
  return files_.with([&](auto& files) -> Hold {
    auto& known = files[object];
    if (Hold held = known.lock()) return held;
    known = made;
    return std::move(made);
  });
}

void LayoutFiles::forget(pnfs::ObjectId object) {
  files_.with([&](auto& files) {
    const auto found = files.find(object);
    if (found != files.end() && found->second.expired()) files.erase(found);
  });
}

LayoutFiles::Hold LayoutFiles::find(pnfs::ObjectId object) const {
  return files_.with([&](const auto& files) -> Hold {
    const auto found = files.find(object);
    return found == files.end() ? nullptr : found->second.lock();
  });
}

vfs::VfsOp<> LayoutFiles::drop_privileges(pnfs::ObjectId object) {
  const Hold held = find(object);
  if (held == nullptr) co_await base::fail(vfs::Error::stale);
  const vfs::FileRef file = co_await held->file_system->resolve(held->handle.view());
  const auto stub = co_await held->file_system->stub(file, held->content->source());
  co_await stub->drop_privileges();
}

vfs::VfsOp<FileFacts> LayoutFiles::facts(pnfs::ObjectId object) {
  const Hold held = find(object);
  if (held == nullptr) co_await base::fail(vfs::Error::stale);
  const vfs::FileRef file = co_await held->file_system->resolve(held->handle.view());
  const vfs::Attributes now = co_await held->file_system->getattr(file);
  co_return FileFacts{.size = now.size, .owner = {.uid = now.uid, .gid = now.gid}};
}

}  // namespace braid::pnfs_mds::layouts
