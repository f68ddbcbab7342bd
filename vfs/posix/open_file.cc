#include "vfs/posix/open_file.h"

#include <utility>

namespace braid::vfs::posix {

std::shared_ptr<PosixOpenFile> PosixOpenFile::make(std::shared_ptr<const void> owner, FileCache& cache,
                                                   FileRef file, OpenAccess access, base::UniqueFd fd,
                                                   DescriptorSlot slot) {
  std::shared_ptr<PosixOpenFile> out(
      new PosixOpenFile(std::move(owner), cache, std::move(file), access, std::move(fd), std::move(slot)));
  out->node().hold([&](Holdings& held) { out->listed_ = held.opens.insert(held.opens.end(), out.get()); });
  return out;
}

PosixOpenFile::~PosixOpenFile() {
  node().closing(fd(), slot_);
  const bool forget = node().hold([&](Holdings& held) {
    held.opens.erase(listed_);
    return held.opens.empty() && held.nameless;
  });
  // Its space is free once the last descriptor is closed.
  if (forget) cache_.drop(node());
}

std::shared_ptr<PosixOpenFile> PosixFile::borrow() {
  return hold([](Holdings& held) -> std::shared_ptr<PosixOpenFile> {
    // One that is being destroyed cannot be locked any more.
    for (PosixOpenFile* const open : held.opens)
      if (auto kept = open->weak_from_this().lock()) return std::static_pointer_cast<PosixOpenFile>(kept);
    return nullptr;
  });
}

}  // namespace braid::vfs::posix
