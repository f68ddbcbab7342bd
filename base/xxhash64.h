// XXH64 (Collet): a fast checksum of 64 bits that finds damage and proves nothing.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace braid::base {

std::uint64_t xxhash64(BytesView bytes, std::uint64_t seed = 0);

}  // namespace braid::base
