// Zeros behind opaque data and strings, up to a multiple of four bytes (RFC 4506 sections 4.9 to 4.11).
#pragma once

#include <cstddef>

namespace braid::xdr {

constexpr std::size_t padding_of(std::size_t bytes) { return (4 - bytes % 4) % 4; }

// Bytes on the wire of that many bytes of data, without a length in front. The sum must not overflow.
constexpr std::size_t padded(std::size_t bytes) { return bytes + padding_of(bytes); }

}  // namespace braid::xdr
