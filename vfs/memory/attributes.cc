// Handles and attributes of a MemoryFileSystem.
#include <utility>

#include "vfs/memory/file.h"
#include "vfs/memory/file_system.h"
#include "vfs/memory/stub.h"

namespace braid::vfs::memory {

MemoryFileSystem::Outcome<Node*> MemoryFileSystem::node(const FileRef& file) {
  Node* const found = storage_.get(id_of(file));
  if (found == nullptr) return base::fail(Error::stale);
  return found;
}

FileRef MemoryFileSystem::file_of(std::uint64_t id) const {
  return FileRef(new MemoryFile(id, storage_.handle_of(id)));
}

VfsOp<Found> MemoryFileSystem::found(std::uint64_t id) {
  FileRef file = file_of(id);
  const Attributes now = co_await look(file);
  co_return Found{std::move(file), now};
}

void MemoryFileSystem::show(const FileRef& file, Wcc* wcc) {
  const Node* const at = storage_.get(id_of(file));
  if (wcc == nullptr || at == nullptr) return;
  const Attributes& now = at->attributes;
  *wcc = {Before{now.size, now.mtime, now.ctime, now.change}, now};
}

FileRef MemoryFileSystem::root() const { return file_of(Storage::root_id); }

VfsOp<FileRef> MemoryFileSystem::resolve(base::BytesView handle) {
  const Call call{.operation = "resolve"};
  co_await hooks_.before(call);
  const std::uint64_t id = co_await storage_.id_of(handle);
  if (storage_.get(id) == nullptr) co_await base::fail(Error::stale);
  co_return file_of(id);
}

VfsOp<Attributes> MemoryFileSystem::getattr(const FileRef& file) {
  const Call call{.operation = "getattr"};
  co_await hooks_.before(call);
  co_return co_await look(file);
}

bool MemoryFileSystem::too_big(const SetAttributes& set) {
  return set.size && *set.size > Storage::file_bytes_max;
}

VfsOp<> MemoryFileSystem::setattr(const Credentials& who, const FileRef& file, const SetAttributes& set,
                                  std::optional<Time> guard, Wcc* wcc) {
  const Call call{.operation = "setattr", .who = &who, .changes = true, .fileid = id_of(file)};
  show(file, wcc);
  co_await hooks_.before(call);
  show(file, wcc);
  Node& at = *co_await (set.size ? regular_file_at(file) : node(file));
  if (guard && *guard != at.attributes.ctime) co_await base::fail(Error::not_sync);
  if (too_big(set)) co_await base::fail(Error::fbig);
  co_await change(who, file, set);
  hooks_.changed(call);
  if (wcc == nullptr) co_return;
  // A content may have changed them between the two looks.
  if (!sources_.empty()) wcc->before.reset();
  const Attributes after = co_await look(file);
  wcc->after = after;
}

VfsOp<> MemoryFileSystem::change(const Credentials& who, FileRef file, SetAttributes set) {
  if (set.size && !sources_.empty()) {
    const HeldRef held = held_of(file);
    const ContentSlot::Use in_use = co_await use(held, file);
    if (Content* const content = in_use.content(); content != nullptr) {
      MemoryStub stub(*this, file, content->source());
      co_await content->resize(stub, who, *set.size);
      set.size.reset();
    }
  }
  Node& at = *co_await node(file);
  storage_.set(at, set);
}

VfsOp<std::uint32_t> MemoryFileSystem::access(const Credentials& who, const FileRef& file,
                                              std::uint32_t wanted, std::optional<Attributes>& now) {
  const Call call{.operation = "access", .who = &who};
  const Node* const seen = storage_.get(id_of(file));
  if (!now && seen != nullptr) now = seen->attributes;
  co_await hooks_.before(call);
  if (!sources_.empty()) {
    const Attributes settled = co_await look(file);
    now = settled;
  }
  const Node& at = *co_await node(file);
  const std::uint32_t bits = who.uid == 0 ? at.attributes.mode >> 6U : at.attributes.mode;
  std::uint32_t granted = 0;
  if ((bits & 4U) != 0) granted |= AccessBits::read;
  if ((bits & 2U) != 0) granted |= AccessBits::modify | AccessBits::extend | AccessBits::remove;
  if ((bits & 1U) != 0) granted |= AccessBits::lookup | AccessBits::execute;
  co_return granted& wanted;
}

VfsOp<FileSystemStatus> MemoryFileSystem::status(const FileRef& /*file*/) {
  const Call call{.operation = "status"};
  co_await hooks_.before(call);
  FileSystemStatus out = traits_.status;
  for (ContentSource* const source : sources_) co_await source->adjust(out);
  co_return out;
}

VfsOp<FileSystemLimits> MemoryFileSystem::limits(const FileRef& /*file*/) {
  const Call call{.operation = "limits"};
  co_await hooks_.before(call);
  FileSystemLimits limits = traits_.limits;
  for (const ContentSource* const source : sources_) source->limit(limits);
  co_return limits;
}

}  // namespace braid::vfs::memory
