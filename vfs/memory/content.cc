// Which content a file of a MemoryFileSystem has, and how it is exchanged.
#include <utility>

#include "vfs/memory/file.h"
#include "vfs/memory/file_system.h"
#include "vfs/memory/stub.h"
#include "vfs/shared_rounds.h"

namespace braid::vfs::memory {

VfsOp<int> MemoryStub::descriptor(OpenAccess /*access*/) { return base::fail(Error::notsupp); }

VfsOp<Attributes> MemoryStub::attributes() {
  const Node* const at = storage_.get(fileid());
  if (at == nullptr) return base::fail(Error::stale);
  return at->attributes;
}

VfsOp<> MemoryStub::put_record(base::BytesView record) {
  Node* const at = storage_.get(fileid());
  if (at == nullptr) return base::fail(Error::stale);
  if (record.size() > record_bytes_max) return base::fail(Error::xattr2big);
  at->records.insert_or_assign(std::string(source_.record()), base::Bytes(record.begin(), record.end()));
  at->synced_size.reset();
  return io::ready_op<Error>();
}

VfsOp<> MemoryStub::erase_record() {
  Node* const at = storage_.get(fileid());
  if (at == nullptr) return base::fail(Error::stale);
  at->records.erase(std::string(source_.record()));
  return io::ready_op<Error>();
}

VfsOp<> MemoryStub::put_size_and_times(const SetAttributes& set) {
  Node* const at = storage_.get(fileid());
  if (at == nullptr) return base::fail(Error::stale);
  if (set.size && !at->synced_size) at->synced_size = at->attributes.size;
  SetAttributes only;
  only.size = set.size;
  only.atime = set.atime;
  only.mtime = set.mtime;
  storage_.set(*at, only);
  return io::ready_op<Error>();
}

VfsOp<> MemoryStub::sync() {
  Node* const at = storage_.get(fileid());
  if (at == nullptr) return base::fail(Error::stale);
  at->synced_size.reset();
  return io::ready_op<Error>();
}

VfsOp<> MemoryStub::drop_privileges() {
  constexpr std::uint32_t set_uid = 04000, set_gid = 02000, group_execute = 010;
  Node* const at = storage_.get(fileid());
  if (at == nullptr) return base::fail(Error::stale);
  const std::uint32_t mode = at->attributes.mode;
  SetAttributes set;
  set.mode = mode & ~((mode & group_execute) != 0 ? set_uid | set_gid : set_uid);
  if (set.mode != mode) storage_.set(*at, set);
  return io::ready_op<Error>();
}

struct MemoryFileSystem::Held {
  ContentSlot slot;
  SharedRounds settling;
  bool asked_to_place = false;
  bool gone = false;  // the node

  Held() = default;
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  // The last call on the content has ended.
  ~Held() {
    ContentRef content = slot.content();
    if (!gone || content == nullptr) return;
    ContentSource& source = content->source();
    source.gone(std::move(content));
  }
};

MemoryFileSystem::HeldRef MemoryFileSystem::held_of(const FileRef& file) {
  HeldRef& held = held_[id_of(file)];
  if (held == nullptr) held = std::make_shared<Held>();
  return held;
}

void MemoryFileSystem::forget(std::uint64_t id) {
  if (storage_.get(id) != nullptr) return;
  const auto found = held_.find(id);
  if (found == held_.end()) return;
  const HeldRef held = std::move(found->second);
  held_.erase(found);
  held->gone = true;
}

VfsOp<ContentRef> MemoryFileSystem::load(FileRef file) {
  for (ContentSource* const source : sources_) {
    const Node& at = *co_await node(file);
    const auto found = at.records.find(source->record());
    if (found == at.records.end()) continue;
    const base::Bytes record = found->second;
    MemoryStub stub(*this, file, *source);
    co_return co_await source->load(stub, record);
  }
  co_return ContentRef();
}

VfsOp<ContentSlot::Use> MemoryFileSystem::use(HeldRef held, FileRef file) {
  const ContentSlot::Load how = [this, file] { return load(file); };
  co_return co_await held->slot.acquire(how);
}

VfsOp<Attributes> MemoryFileSystem::look(HeldRef held, Content* content, FileRef file) {
  if (content != nullptr && content->unsettled()) {
    MemoryStub stub(*this, file, content->source());
    co_await held->settling.run([content, &stub] { return content->settle(stub); });
  }
  const Node* const at = co_await node(file);
  Attributes now = at->attributes;
  if (content != nullptr) content->adjust(now);
  co_return now;
}

VfsOp<Attributes> MemoryFileSystem::look(FileRef file) {
  const Node* const at = co_await node(file);
  if (sources_.empty() || at->attributes.type != FileType::regular) co_return at->attributes;
  const HeldRef held = held_of(file);
  const auto in_use = co_await use(held, file).as_result();
  // Attributes of a file with a damaged record can be used.
  Content* const content = in_use ? in_use->content() : nullptr;
  co_return co_await look(held, content, file);
}

VfsOp<> MemoryFileSystem::announce_removal(FileRef directory, std::string_view name) {
  if (sources_.empty() || storage_.get(id_of(directory)) == nullptr) co_return;
  const auto id = storage_.find(id_of(directory), name);
  if (!id) co_return;
  const Attributes& named = storage_.node(*id).attributes;
  if (named.type != FileType::regular || named.nlink > 1) co_return;
  const FileRef file = file_of(*id);
  const HeldRef held = held_of(file);
  const auto in_use = co_await use(held, file).as_result();
  if (!in_use || in_use->content() == nullptr) co_return;
  Content& content = *in_use->content();
  MemoryStub stub(*this, file, content.source());
  co_await content.source().removing(stub, content);
}

VfsOp<ContentRef> MemoryFileSystem::place_now(FileRef file, ContentSource& source, ContentRef former,
                                              PlacementHint hint) {
  if (former != nullptr && &former->source() != &source) co_await base::fail(Error::exist);
  MemoryStub stub(*this, file, source);
  co_return co_await source.place(stub, former, hint);
}

VfsOp<> MemoryFileSystem::place_before_first_write(HeldRef held, FileRef file, PlacementHint hint) {
  if (std::exchange(held->asked_to_place, true)) co_return;
  for (ContentSource* const source : sources_) {
    if (!source->places_at_first_write()) continue;
    const ContentSlot::Load how = [this, file] { return load(file); };
    const ContentSlot::Replace next = [this, file, source,
                                       hint](const ContentRef& former) -> VfsOp<ContentRef> {
      const Node* const at = storage_.get(id_of(file));
      if (former != nullptr || at == nullptr || at->attributes.size > 0) return former;
      return place_now(file, *source, former, hint);
    };
    const auto placed = co_await held->slot.replace(how, next).as_result();
    if (placed) continue;
    held->asked_to_place = false;
    co_await base::fail(placed.error());
  }
}

VfsOp<ContentRef> MemoryFileSystem::content(const FileRef& file) {
  if (sources_.empty()) co_await base::fail(Error::notsupp);
  (void)co_await regular_file_at(file);
  const HeldRef held = held_of(file);
  const ContentSlot::Use in_use = co_await use(held, file);
  co_return held->slot.content();
}

VfsOp<ContentRef> MemoryFileSystem::exchange(const FileRef& file, ContentRef next) {
  if (sources_.empty()) co_await base::fail(Error::notsupp);
  (void)co_await content(file);
  const HeldRef held = held_of(file);
  auto former = co_await held->slot.exchange(std::move(next)).as_result();
  co_return std::move(*former);
}

VfsOp<ContentRef> MemoryFileSystem::place(const FileRef& file, ContentSource& source, PlacementHint hint) {
  if (sources_.empty()) co_await base::fail(Error::notsupp);
  (void)co_await regular_file_at(file);
  const HeldRef held = held_of(file);
  const ContentSlot::Load how = [this, file] { return load(file); };
  const ContentSlot::Replace next = [this, file, &source, hint](const ContentRef& former) {
    return place_now(file, source, former, hint);
  };
  co_return co_await held->slot.replace(how, next);
}

VfsOp<std::unique_ptr<Stub>> MemoryFileSystem::stub(const FileRef& file, ContentSource& source) {
  if (sources_.empty()) co_await base::fail(Error::notsupp);
  (void)co_await regular_file_at(file);
  co_return std::make_unique<MemoryStub>(*this, file, source);
}

}  // namespace braid::vfs::memory
