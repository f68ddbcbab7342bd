// Bytes as the documents show them.
#pragma once

#include <fmt/format.h>

#include <string>

#include "base/bytes.h"

namespace braid::pnfs {

inline std::string hex_of(base::BytesView bytes) {
  std::string out;
  for (const std::byte byte : bytes) out += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  return out;
}

}  // namespace braid::pnfs
