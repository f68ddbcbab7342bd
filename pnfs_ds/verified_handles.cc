#include "pnfs_ds/verified_handles.h"

#include <utility>

namespace braid::pnfs_ds {

std::size_t VerifiedHandles::slot_of(base::BytesView handle) {
  return std::to_integer<std::size_t>(handle.back()) % slots_count;
}

vfs::FileRef VerifiedHandles::find(base::BytesView handle, const Terms& terms) const {
  if (handle.size() != pnfs::DataHandleCodec::bytes_count) return {};
  return slots_[slot_of(handle)].with([&](const Slot& slot) {
    const bool known = slot.file && slot.terms.client == terms.client && slot.terms.codec == terms.codec &&
                       pnfs::DataHandleCodec::same(slot.file->handle().view(), handle);
    return known ? slot.file : vfs::FileRef();
  });
}

void VerifiedHandles::add(const vfs::FileRef& file, Terms terms) {
  Slot former{std::move(terms), file};
  slots_[slot_of(file->handle().view())].with([&](Slot& slot) { std::swap(slot, former); });
}

}  // namespace braid::pnfs_ds
