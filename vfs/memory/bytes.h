// Bytes of a file to and from payloads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/assert.h"
#include "io/payload.h"
#include "io/slab.h"
#include "vfs/memory/storage.h"

namespace braid::vfs::memory {

// False: there is no memory left.
inline bool append(io::Payload& to, std::string_view bytes, io::SlabCursor& cursor) {
  while (!bytes.empty()) {
    const std::size_t step = std::min(bytes.size(), io::small_slab_bytes);
    auto range = cursor.carve(step);
    if (!range) return false;
    std::memcpy(range->writable().data(), bytes.data(), step);
    to.append(std::move(*range));
    bytes.remove_prefix(step);
  }
  return true;
}

// Overwrites and extends `content` from `offset` on with the first `count` bytes of `data`. False: that is
// beyond Storage::file_bytes_max.
inline bool put(std::string& content, std::uint64_t offset, const io::Payload& data, std::uint32_t count) {
  if (count > Storage::file_bytes_max || offset > Storage::file_bytes_max - count) return false;
  if (content.size() < offset + count) content.resize(offset + count);
  const auto memory = data.in_memory();
  base::check(memory.has_value(), "no pipe leads here");
  memory->copy_to(0, std::as_writable_bytes(std::span(content).subspan(offset, count)));
  return true;
}

}  // namespace braid::vfs::memory
