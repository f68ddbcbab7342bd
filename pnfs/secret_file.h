// The secret of a pNFS cluster as each of its servers has it: a file.
#pragma once

#include <expected>
#include <string>

#include "pnfs/keys.h"

namespace braid::pnfs {

// A regular file of mode 0600 with ClusterSecret::bytes_min to bytes_max bytes; blocks. The error is a
// sentence for the user.
std::expected<ClusterSecret, std::string> read_secret(const std::string& file);

}  // namespace braid::pnfs
