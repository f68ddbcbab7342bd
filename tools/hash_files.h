// What braid hash and braid dedup share: keys and files read piece by piece.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "hashing/digest.h"

namespace braid::tools {

// The 32 bytes of a key file. EINVAL: it holds more or fewer.
base::Result<hashing::Key> read_key(const std::string& path);

// Calls take(piece, is_end) for a regular file's bytes in order, the last time with is_end, once at least;
// stops early when take returns an error. `buffer` is what is read into, and as large as a piece.
base::Result<void> read_pieces(
    const std::string& path, base::MutableBytes buffer,
    const std::function<base::Result<void>(base::BytesView piece, bool is_end)>& take);

}  // namespace braid::tools
