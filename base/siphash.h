// SipHash-2-4 with 64-bit output (Aumasson and Bernstein, 2012): a keyed MAC for short messages, used to sign
// handles and to hash keys that peers choose.
#pragma once

#include <array>
#include <cstdint>

#include "base/bytes.h"

namespace braid::base {

using SipKey = std::array<std::uint64_t, 2>;

std::uint64_t siphash24(const SipKey& key, BytesView message);

// 16 bytes from getrandom(2).
SipKey random_sip_key();

}  // namespace braid::base
