// What XFS says about itself.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace braid::vfs::posix {

// XFS_IOC_FSGEOMETRY_V1, for which Debian has headers only in a package of their own.
struct XfsGeometry {
  std::uint32_t block_bytes;
  std::uint32_t sizes[7];
  std::uint64_t blocks[4];
  std::array<std::byte, 16> uuid;
  std::uint32_t units[2];
  std::int32_t version;
  std::uint32_t flags;
  std::uint32_t more[3];

  [[nodiscard]] bool reflinks() const { return (flags >> 20U & 1U) != 0; }  // XFS_FSOP_GEOM_FLAGS_REFLINK
};
static_assert(sizeof(XfsGeometry) == 112);

// Nothing on other file systems.
std::optional<XfsGeometry> xfs_geometry(int fd);

}  // namespace braid::vfs::posix
