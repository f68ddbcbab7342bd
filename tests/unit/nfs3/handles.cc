#include "tests/unit/nfs3/handles.h"

#include <algorithm>

namespace braid::nfs3::test {
namespace {

constexpr std::uint64_t signature = 0xa0a1a2a3a4a5a6a7;

void append(vfs::FileHandle& handle, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = bytes; i-- > 0;)
    handle.bytes[handle.size++] = static_cast<std::byte>(value >> (8 * i));
}

std::uint64_t load(base::BytesView bytes) {
  std::uint64_t value = 0;
  for (const std::byte byte : bytes) value = value << 8 | std::to_integer<std::uint64_t>(byte);
  return value;
}

}  // namespace

vfs::FileHandle make_handle(vfs::ExportId id, std::uint64_t fileid) {
  vfs::FileHandle handle;
  append(handle, 0x0100'0001, 4);
  append(handle, id.value(), 4);
  append(handle, signature, 8);
  append(handle, fileid, 8);
  return handle;
}

std::optional<std::uint64_t> fileid_of(base::BytesView handle) {
  if (handle.size() != 24 || load(handle.subspan(8, 8)) != signature) return std::nullopt;
  return load(handle.subspan(16, 8));
}

}  // namespace braid::nfs3::test
