// Handles and attributes of a MemoryFileSystem.
#include "vfs/memory/file.h"
#include "vfs/memory/file_system.h"

namespace braid::vfs::memory {

MemoryFileSystem::Outcome<Node*> MemoryFileSystem::node(const FileRef& file) {
  Node* const found = storage_.get(id_of(file));
  if (found == nullptr) return base::fail(Error::stale);
  return found;
}

FileRef MemoryFileSystem::file_of(std::uint64_t id) const {
  return FileRef(new MemoryFile(id, storage_.handle_of(id)));
}

Found MemoryFileSystem::found(std::uint64_t id) { return {file_of(id), storage_.node(id).attributes}; }

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
  const Node* const at = co_await node(file);
  co_return at->attributes;
}

bool MemoryFileSystem::too_big(const SetAttributes& set) {
  return set.size && *set.size > Storage::file_bytes_max;
}

void MemoryFileSystem::apply(const SetAttributes& set, Time now, Node& node) {
  Attributes& out = node.attributes;
  if (set.mode) out.mode = *set.mode;
  if (set.uid) out.uid = *set.uid;
  if (set.gid) out.gid = *set.gid;
  if (set.size) {
    node.content.resize(*set.size);
    out.size = out.space = *set.size;
    out.mtime = now;
  }
  const auto time = [&](const SetTime& wanted, Time& to) {
    if (wanted.how == SetTime::How::client) to = wanted.value;
    if (wanted.how == SetTime::How::server) to = now;
  };
  time(set.atime, out.atime);
  time(set.mtime, out.mtime);
}

VfsOp<> MemoryFileSystem::setattr(const Credentials& who, const FileRef& file, const SetAttributes& set,
                                  std::optional<Time> guard, Wcc* wcc) {
  const Call call{.operation = "setattr", .who = &who, .changes = true};
  show(file, wcc);
  co_await hooks_.before(call);
  show(file, wcc);
  Node& at = *co_await (set.size ? regular_file_at(file) : node(file));
  if (guard && *guard != at.attributes.ctime) co_await base::fail(Error::not_sync);
  if (too_big(set)) co_await base::fail(Error::fbig);
  const Time now = storage_.tick();
  apply(set, now, at);
  at.attributes.ctime = now;
  ++at.attributes.change;
  hooks_.changed(call);
  if (wcc != nullptr) wcc->after = at.attributes;
}

VfsOp<std::uint32_t> MemoryFileSystem::access(const Credentials& who, const FileRef& file,
                                              std::uint32_t wanted, std::optional<Attributes>& now) {
  const Call call{.operation = "access", .who = &who};
  const Node* const seen = storage_.get(id_of(file));
  if (!now && seen != nullptr) now = seen->attributes;
  co_await hooks_.before(call);
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
  co_return traits_.status;
}

VfsOp<FileSystemLimits> MemoryFileSystem::limits(const FileRef& /*file*/) {
  const Call call{.operation = "limits"};
  co_await hooks_.before(call);
  co_return traits_.limits;
}

}  // namespace braid::vfs::memory
