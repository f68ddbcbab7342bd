#include "pnfs_mds/layouts/layout_files.h"

namespace braid::pnfs_mds::layouts {

LayoutFiles::Found LayoutFiles::find(pnfs::ObjectId object) const {
  Found out;
  out.striped = source_.living(object);
  if (out.striped != nullptr) out.file_system = out.striped->file_system();
  return out;
}

vfs::VfsOp<> LayoutFiles::drop_privileges(pnfs::ObjectId object) {
  const Found found = find(object);
  if (found.file_system == nullptr) co_await base::fail(vfs::Error::stale);
  const vfs::FileRef file = co_await found.file_system->resolve(found.striped->file().view());
  const auto stub = co_await found.file_system->stub(file, source_);
  co_await stub->drop_privileges();
}

vfs::VfsOp<FileFacts> LayoutFiles::facts(pnfs::ObjectId object) {
  const Found found = find(object);
  if (found.file_system == nullptr) co_await base::fail(vfs::Error::stale);
  const vfs::FileRef file = co_await found.file_system->resolve(found.striped->file().view());
  const vfs::Attributes now = co_await found.file_system->getattr(file);
  co_return FileFacts{.size = now.size, .owner = {.uid = now.uid, .gid = now.gid}};
}

}  // namespace braid::pnfs_mds::layouts
