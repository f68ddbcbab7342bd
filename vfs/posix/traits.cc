#include "vfs/posix/traits.h"

#include <linux/magic.h>

#include <charconv>
#include <limits>

#include "base/arith.h"

namespace braid::vfs::posix {
namespace {

constexpr std::uint32_t xfs_magic = 0x58465342;

constexpr auto everything_else = Traits{};
constexpr Traits known_file_systems[] = {
    {.magic = TMPFS_MAGIC,
     .policy = PlacementPolicy::inline_always,
     .local = true,
     .in_memory = true,
     .birth_names_inode = true,
     .privileged_blocks = false,
     .link_max = std::numeric_limits<std::uint32_t>::max()},
    {.magic = RAMFS_MAGIC,
     .policy = PlacementPolicy::inline_always,
     .local = true,
     .in_memory = true,
     .stable_positions = false,
     .privileged_blocks = false,
     .link_max = std::numeric_limits<std::uint32_t>::max()},
    {.magic = EXT4_SUPER_MAGIC,
     .policy = PlacementPolicy::governed,
     .local = true,
     .birth_names_inode = true,
     .link_max = 65000},
    {.magic = xfs_magic,
     .policy = PlacementPolicy::governed,
     .local = true,
     .birth_names_inode = true,
     .privileged_blocks = false,
     .link_max = std::numeric_limits<std::int32_t>::max()},
    {.magic = BTRFS_SUPER_MAGIC,
     .policy = PlacementPolicy::governed,
     .local = true,
     .privileged_blocks = false,
     .link_max = 65535},
    {.magic = F2FS_SUPER_MAGIC, .policy = PlacementPolicy::governed, .local = true, .link_max = 32000},
    // A merged directory is a list made when it is opened; positions count its entries.
    {.magic = OVERLAYFS_SUPER_MAGIC,
     .policy = PlacementPolicy::governed,
     .local = true,
     .stable_positions = false},
};

bool older_than_6_6(std::string_view release) {
  unsigned major = 0, minor = 0;
  const char* const end = release.data() + release.size();
  const auto [dot, error] = std::from_chars(release.data(), end, major);
  if (error != std::errc() || dot == end || *dot != '.') return false;
  std::from_chars(dot + 1, end, minor);
  return major < 6 || (major == 6 && minor < 6);
}

}  // namespace

Traits traits_of(std::uint64_t magic, std::string_view release) {
  for (const Traits& row : known_file_systems) {
    if (row.magic != magic) continue;
    Traits traits = row;
    // Before 6.6 tmpfs counted entries from the start.
    if (magic == TMPFS_MAGIC && older_than_6_6(release)) traits.stable_positions = false;
    return traits;
  }
  return everything_else;
}

std::uint64_t file_bytes_max(std::uint64_t magic, std::uint64_t block_bytes) {
  constexpr std::uint64_t blocks_max_32 = std::numeric_limits<std::uint32_t>::max();
  if (magic == MSDOS_SUPER_MAGIC) return blocks_max_32;
  if (magic == EXT4_SUPER_MAGIC) return base::multiply(blocks_max_32, block_bytes).value_or(offset_max);
  return offset_max;
}

}  // namespace braid::vfs::posix
