// What two peers tell each other of themselves when they connect: the private data of RFC 8797.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace braid::rdma {

constexpr std::size_t private_data_bytes = 8;
// RFC 8166 section 3.3.2: the threshold of a peer that says nothing.
constexpr std::uint32_t inline_bytes_default = 1024;
constexpr std::uint32_t inline_size_max = 256 * 1024;

struct PrivateData {
  std::uint32_t send_bytes = inline_bytes_default;     // longest message that the sender of this will send
  std::uint32_t receive_bytes = inline_bytes_default;  // longest message that it can receive
  bool remote_invalidation = false;                    // it understands Send With Invalidate
  friend bool operator==(const PrivateData&, const PrivateData&) = default;
};

// Sizes are told in whole KiB, rounded down; they must lie between 1 KiB and inline_size_max.
std::array<std::byte, private_data_bytes> encode(const PrivateData& data);
// Of a peer that sent something else, or another version, nothing is known but the defaults (RFC 8797 section
// 4). What follows the eight bytes is padding of the connection manager.
PrivateData decode_private_data(base::BytesView bytes);

}  // namespace braid::rdma
