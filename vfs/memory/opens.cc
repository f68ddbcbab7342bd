// Opens, locks and leases of a MemoryFileSystem.
#include <memory>
#include <utility>

#include "vfs/memory/file.h"
#include "vfs/memory/file_system.h"

namespace braid::vfs::memory {

Borrowed MemoryFileSystem::borrow(const Credentials& who, const FileRef& file) {
  return Borrowed(std::in_place_type<LentFile>, *this, who, file);
}

VfsOp<OpenFileRef> MemoryFileSystem::open(const Credentials& who, const FileRef& file, OpenAccess access,
                                          OpenRule /*rule*/) {
  const Call call{.operation = "open", .who = &who};
  co_await hooks_.before(call);
  (void)co_await regular_file_at(file);
  co_return std::make_shared<OpenedFile>(shared_from_this(), file, access);
}

VfsOp<OpenCreated> MemoryFileSystem::open_create(const Credentials& who, const FileRef& directory,
                                                 std::string_view name, OpenAccess access,
                                                 const CreateHow& how, Wcc& wcc) {
  const Call call{.operation = "open_create", .who = &who, .changes = true, .name = name};
  show(directory, &wcc);
  co_await hooks_.before(call);
  show(directory, &wcc);
  const Made made = co_await find_or_make(call, directory, how, wcc);
  const FileRef file = file_of(made.id);
  (void)co_await regular_file_at(file);
  OpenCreated out;
  out.open = std::make_shared<OpenedFile>(shared_from_this(), file, access);
  out.file = file;
  out.created = made.created;
  out.truncated = !made.created && how.attributes.size == 0;
  if (out.truncated) {
    SetAttributes set;
    set.size = 0;
    co_await change(who, file, set);
  }
  const Attributes now = co_await look(file);
  out.attributes = now;
  co_return out;
}

void MemoryFileSystem::release(std::uint64_t id) {
  storage_.release(id);
  forget(id);
}

VfsOp<std::optional<LockConflict>> MemoryFileSystem::lock(const OpenFileRef& /*open*/, LockOwnerId /*owner*/,
                                                          LockRange /*range*/, LockType /*type*/) {
  const Call call{.operation = "lock"};
  co_await hooks_.before(call);
  co_return std::nullopt;
}

VfsOp<std::optional<LockConflict>> MemoryFileSystem::test_lock(const FileRef& /*file*/, LockOwnerId /*owner*/,
                                                               LockRange /*range*/, LockType /*type*/) {
  const Call call{.operation = "test_lock"};
  co_await hooks_.before(call);
  co_return std::nullopt;
}

VfsOp<> MemoryFileSystem::unlock(const FileRef& /*file*/, LockOwnerId /*owner*/, LockRange /*range*/) {
  const Call call{.operation = "unlock"};
  co_await hooks_.before(call);
}

VfsOp<LeaseRef> MemoryFileSystem::lease(
    const OpenFileRef& open, LeaseType /*type*/, LeaseHolder /*holder*/,
    LeaseBreak /*broken*/) {  // NOLINT(performance-unnecessary-value-param)
  const Call call{.operation = "lease"};
  co_await hooks_.before(call);
  co_return std::make_unique<MemoryLease>(open);
}

}  // namespace braid::vfs::memory
