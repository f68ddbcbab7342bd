// POSIX ACLs (acl(5)) as values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace braid::vfs {

enum class AclTag : std::uint8_t { user_obj, user, group_obj, group, mask, other };

struct AclEntry {
  AclTag tag = AclTag::other;
  std::uint8_t permissions = 0;  // 4 read, 2 write, 1 execute
  std::uint32_t id = 0;          // of user and group
  friend bool operator==(const AclEntry&, const AclEntry&) = default;
};
using AclEntries = std::vector<AclEntry>;
// What one extended attribute holds.
constexpr std::size_t acl_entries_max = (65536 - 4) / 8;

// Empty lists: there is no such ACL, and the mode says everything.
struct PosixAcl {
  AclEntries access;
  AclEntries inherited;  // by what is made in this directory ("default ACL")
  friend bool operator==(const PosixAcl&, const PosixAcl&) = default;
};

// What to replace; an empty list takes the ACL away and leaves the mode.
struct SetAcl {
  std::optional<AclEntries> access;
  std::optional<AclEntries> inherited;
};

}  // namespace braid::vfs
