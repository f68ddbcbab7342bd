// The secret of a pNFS cluster: a file that each of its servers has.
#pragma once

#include <expected>
#include <string>

#include "base/bytes.h"

namespace braid::server::config {

// 32 to 4096 bytes of a file with mode 0600; blocks. The error is a sentence for the user.
std::expected<base::Bytes, std::string> read_secret(const std::string& file);

}  // namespace braid::server::config
