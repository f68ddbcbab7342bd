// ALLOCATE and DEALLOCATE of a MemoryFileSystem.
#include <algorithm>

#include "base/arith.h"
#include "vfs/memory/file.h"
#include "vfs/memory/file_system.h"
#include "vfs/memory/stub.h"

namespace braid::vfs::memory {

MemoryFileSystem::Outcome<> MemoryFileSystem::change_own_space(const Call& call, const FileRef& file,
                                                               Space change) {
  const auto at = regular_file_at(file);
  if (!at) return base::fail(at.error());
  std::string& content = (*at)->content;
  const auto end = base::end_of<std::uint64_t>(call.offset, call.count, Storage::file_bytes_max);
  if (change == Space::allocate) {
    if (!end) return base::fail(Error::fbig);
    content.resize(std::max<std::size_t>(content.size(), *end));
    (*at)->attributes.size = (*at)->attributes.space = content.size();
  } else {
    const std::size_t from = std::min<std::uint64_t>(call.offset, content.size());
    const std::size_t to = std::min<std::uint64_t>(end.value_or(content.size()), content.size());
    std::fill(content.begin() + static_cast<std::ptrdiff_t>(from),
              content.begin() + static_cast<std::ptrdiff_t>(to), '\0');
  }
  storage_.touch(**at);
  hooks_.changed(call);
  return {};
}

VfsOp<> MemoryFileSystem::change_space(const Credentials& who, const FileRef& file, Space change,
                                       std::uint64_t offset, std::uint64_t length) {
  const Call call{.operation = change == Space::allocate ? "allocate" : "deallocate",
                  .who = &who,
                  .changes = true,
                  .offset = offset,
                  .count = length,
                  .fileid = id_of(file)};
  co_await hooks_.before(call);
  (void)co_await regular_file_at(file);
  if (sources_.empty()) co_return co_await change_own_space(call, file, change);
  const HeldRef held = held_of(file);
  const PlacementHint hint{offset, length};
  co_await place_before_first_write(held, file, hint);
  const ContentSlot::Use in_use = co_await use(held, file);
  Content* const content = in_use.content();
  if (content == nullptr) co_return co_await change_own_space(call, file, change);
  MemoryStub stub(*this, file, content->source());
  if (change == Space::allocate)
    co_await content->allocate(stub, who, offset, length);
  else
    co_await content->deallocate(stub, who, offset, length);
  hooks_.changed(call);
}

}  // namespace braid::vfs::memory
