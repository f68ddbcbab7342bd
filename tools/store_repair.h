// What of a store can be made anew from the rest of it.
#pragma once

#include <cstdint>
#include <expected>
#include <string>

#include "store/store.h"

namespace braid::tools {

// Of a store that is open for writing: the index learns of all chunks; a registry that is lost or damaged is
// made from the records of all files of its file systems; what a crash left of seals is done. Prints what it
// does, and returns how much. The error, a sentence, says what keeps it from that: then nothing was made
// anew. Whoever goes on opens the store again.
std::expected<std::uint64_t, std::string> repair_store(store::Store& store);

}  // namespace braid::tools
