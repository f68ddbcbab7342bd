// READ, WRITE and COMMIT of a MemoryFileSystem.
#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "base/assert.h"
#include "vfs/memory/file.h"
#include "vfs/memory/file_system.h"

namespace braid::vfs::memory {

MemoryFileSystem::Outcome<Node*> MemoryFileSystem::regular_file_at(const FileRef& file) {
  auto at = node(file);
  if (!at || (*at)->attributes.type == FileType::regular) return at;
  return base::fail((*at)->attributes.type == FileType::directory ? Error::isdir : Error::inval);
}

VfsOp<ReadResult> MemoryFileSystem::read(const Credentials* who, const FileRef& file, std::uint64_t offset,
                                         std::uint32_t count, ReadMemory memory) {
  const Call call{.operation = "read", .who = who, .offset = offset, .count = count};
  co_await hooks_.before(call);
  const Node& at = *co_await regular_file_at(file);
  ReadResult out;
  out.attributes = at.attributes;
  const std::size_t from = std::min<std::uint64_t>(offset, at.content.size());
  const std::size_t take = std::min<std::size_t>(count, at.content.size() - from);
  for (std::size_t done = 0; done < take;) {
    const std::size_t step = std::min(take - done, io::small_slab_bytes);
    auto range = memory.cursor.carve(step);
    if (!range) co_await base::fail(Error::delay);
    std::memcpy(range->writable().data(), at.content.data() + from + done, step);
    out.data.append(std::move(*range));
    done += step;
  }
  out.eof = from + take == at.content.size();
  co_return out;
}

VfsOp<WriteResult> MemoryFileSystem::write(const Credentials& who, const FileRef& file, std::uint64_t offset,
                                           const io::Payload& data, Stability stability, Wcc* wcc) {
  const Call call{.operation = "write",
                  .who = &who,
                  .changes = true,
                  .offset = offset,
                  .count = data.size(),
                  .data = &data};
  const Verifier verifier = traits_.verifier;
  show(file, wcc);
  co_await hooks_.before(call);
  show(file, wcc);
  Node& at = *co_await regular_file_at(file);
  const auto count = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(data.size(), traits_.short_write.value_or(~std::uint32_t{0})));
  if (offset > Storage::file_bytes_max - std::min<std::uint64_t>(count, Storage::file_bytes_max))
    co_await base::fail(Error::fbig);
  if (at.content.size() < offset + count) at.content.resize(offset + count);
  const auto memory = data.in_memory();
  base::check(memory.has_value(), "no pipe leads here");
  memory->copy_to(0, std::as_writable_bytes(std::span(at.content).subspan(offset, count)));
  at.attributes.size = at.attributes.space = at.content.size();
  storage_.touch(at);
  hooks_.changed(call);
  if (wcc != nullptr) wcc->after = at.attributes;
  co_return WriteResult{count, traits_.committed.value_or(stability), verifier};
}

VfsOp<Verifier> MemoryFileSystem::commit(const Credentials& who, const FileRef& file, std::uint64_t offset,
                                         std::uint32_t count, Wcc* wcc) {
  const Call call{.operation = "commit", .who = &who, .offset = offset, .count = count};
  show(file, wcc);
  co_await hooks_.before(call);
  show(file, wcc);
  (void)co_await regular_file_at(file);
  co_return traits_.verifier;
}

}  // namespace braid::vfs::memory
