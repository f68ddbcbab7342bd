// READ, WRITE and COMMIT of a MemoryFileSystem.
#include <algorithm>
#include <optional>
#include <string_view>

#include "vfs/memory/bytes.h"
#include "vfs/memory/file.h"
#include "vfs/memory/file_system.h"
#include "vfs/memory/stub.h"

namespace braid::vfs::memory {

MemoryFileSystem::Outcome<Node*> MemoryFileSystem::regular_file_at(const FileRef& file) {
  auto at = node(file);
  if (!at || (*at)->attributes.type == FileType::regular) return at;
  return base::fail((*at)->attributes.type == FileType::directory ? Error::isdir : Error::inval);
}

MemoryFileSystem::Outcome<ReadResult> MemoryFileSystem::read_own(const FileRef& file, std::uint64_t offset,
                                                                 std::uint32_t count, ReadMemory memory) {
  const auto at = regular_file_at(file);
  if (!at) return base::fail(at.error());
  const std::string& content = (*at)->content;
  ReadResult out;
  out.attributes = (*at)->attributes;
  const std::size_t from = std::min<std::uint64_t>(offset, content.size());
  const std::size_t take = std::min<std::size_t>(count, content.size() - from);
  if (!append(out.data, std::string_view(content).substr(from, take), memory.cursor))
    return base::fail(Error::delay);
  out.eof = from + take == content.size();
  return out;
}

VfsOp<ReadResult> MemoryFileSystem::read(const Credentials* who, const FileRef& file, std::uint64_t offset,
                                         std::uint32_t count, ReadMemory memory) {
  const Call call{.operation = "read", .who = who, .offset = offset, .count = count};
  co_await hooks_.before(call);
  (void)co_await regular_file_at(file);
  if (sources_.empty()) co_return read_own(file, offset, count, memory);
  const HeldRef held = held_of(file);
  const ContentSlot::Use in_use = co_await use(held, file);
  Content* const content = in_use.content();
  if (content == nullptr) co_return read_own(file, offset, count, memory);
  const Attributes before = co_await look(held, content, file);
  MemoryStub stub(*this, file, content->source());
  ReadResult out = co_await content->read(stub, offset, count, memory);
  out.attributes = before;
  co_return out;
}

MemoryFileSystem::Outcome<WriteResult> MemoryFileSystem::write_own(const Call& call, const FileRef& file,
                                                                   Stability stability, Verifier verifier,
                                                                   Wcc* wcc) {
  const auto at = regular_file_at(file);
  if (!at) return base::fail(at.error());
  const auto count = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(call.count, traits_.short_write.value_or(~std::uint32_t{0})));
  if (!put((*at)->content, call.offset, *call.data, count)) return base::fail(Error::fbig);
  (*at)->attributes.size = (*at)->attributes.space = (*at)->content.size();
  storage_.touch(**at);
  hooks_.changed(call);
  if (wcc != nullptr) wcc->after = (*at)->attributes;
  return WriteResult{count, traits_.committed.value_or(stability), verifier};
}

VfsOp<WriteResult> MemoryFileSystem::write(const Credentials& who, const FileRef& file, std::uint64_t offset,
                                           const io::Payload& data, Stability stability, Wcc* wcc) {
  const Call call{.operation = "write",
                  .who = &who,
                  .changes = true,
                  .offset = offset,
                  .count = data.size(),
                  .data = &data,
                  .stability = stability,
                  .fileid = id_of(file)};
  const Verifier verifier = traits_.verifier;
  show(file, wcc);
  co_await hooks_.before(call);
  show(file, wcc);
  (void)co_await regular_file_at(file);
  if (sources_.empty()) co_return write_own(call, file, stability, verifier, wcc);
  const HeldRef held = held_of(file);
  const PlacementHint hint{offset, data.size()};
  co_await place_before_first_write(held, file, hint);
  const ContentSlot::Use in_use = co_await use(held, file);
  Content* const content = in_use.content();
  if (content == nullptr) co_return write_own(call, file, stability, verifier, wcc);
  MemoryStub stub(*this, file, content->source());
  const WriteResult out = co_await content->write(stub, who, offset, data, stability);
  hooks_.changed(call);
  if (wcc == nullptr) co_return out;
  const Attributes after = co_await look(held, content, file);
  *wcc = {std::nullopt, after};
  co_return out;
}

VfsOp<Verifier> MemoryFileSystem::commit(const Credentials& who, const FileRef& file, std::uint64_t offset,
                                         std::uint32_t count, Wcc* wcc) {
  const Call call{
      .operation = "commit", .who = &who, .offset = offset, .count = count, .fileid = id_of(file)};
  show(file, wcc);
  co_await hooks_.before(call);
  show(file, wcc);
  (void)co_await regular_file_at(file);
  if (sources_.empty()) co_return traits_.verifier;
  const HeldRef held = held_of(file);
  const ContentSlot::Use in_use = co_await use(held, file);
  Content* const content = in_use.content();
  if (content == nullptr) co_return traits_.verifier;
  MemoryStub stub(*this, file, content->source());
  const Verifier out = co_await content->commit(stub, who, offset, count);
  if (wcc == nullptr) co_return out;
  const Attributes after = co_await look(held, content, file);
  *wcc = {std::nullopt, after};
  co_return out;
}

}  // namespace braid::vfs::memory
