#include "rdma/private_data.h"

#include <bit>
#include <cstring>

#include "base/assert.h"

namespace braid::rdma {
namespace {

// RFC 8797 section 4.1
constexpr std::uint32_t format_identifier = 0xf6ab0e18;
constexpr std::byte format_version{1};
constexpr std::byte remote_invalidation_flag{1};

constexpr std::uint32_t big_endian(std::uint32_t value) {
  return std::endian::native == std::endian::little ? __builtin_bswap32(value) : value;
}

// RFC 8797 section 4.2: 0 stands for 1 KiB, 255 for 256 KiB.
std::byte size_code(std::uint32_t bytes) {
  base::check(bytes >= 1024 && bytes <= inline_size_max, "an inline size that can be told");
  return static_cast<std::byte>(bytes / 1024 - 1);
}
std::uint32_t size_of(std::byte code) { return (std::to_integer<std::uint32_t>(code) + 1) * 1024; }

}  // namespace

std::array<std::byte, private_data_bytes> encode(const PrivateData& data) {
  std::array<std::byte, private_data_bytes> out{};
  const std::uint32_t identifier = big_endian(format_identifier);
  std::memcpy(out.data(), &identifier, sizeof identifier);
  out[4] = format_version;
  out[5] = data.remote_invalidation ? remote_invalidation_flag : std::byte{0};
  out[6] = size_code(data.send_bytes);
  out[7] = size_code(data.receive_bytes);
  return out;
}

PrivateData decode_private_data(base::BytesView bytes) {
  std::uint32_t identifier;
  if (bytes.size() < private_data_bytes) return {};
  std::memcpy(&identifier, bytes.data(), sizeof identifier);
  if (identifier != big_endian(format_identifier) || bytes[4] != format_version) return {};
  return {.send_bytes = size_of(bytes[6]),
          .receive_bytes = size_of(bytes[7]),
          .remote_invalidation = (bytes[5] & remote_invalidation_flag) != std::byte{0}};
}

}  // namespace braid::rdma
