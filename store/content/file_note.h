// What a store's index remembers of a sealed file: what clients see of its times. It may be lost; then they
// read the file anew. docs/format-store.md is the reference.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "vfs/content.h"

namespace braid::store {

struct FileNote {
  vfs::HiddenChanges hidden{};
  std::uint64_t mapped = 0;  // bytes of the file that are in chunks
  friend bool operator==(const FileNote&, const FileNote&) = default;
};
base::Bytes encode(const FileNote& note);
// Nothing: it is damaged, or of a later version.
std::optional<FileNote> decode_note(base::BytesView bytes);

}  // namespace braid::store
