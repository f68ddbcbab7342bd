// What the values of attributes are made of.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "nfs4/idmap/owner_text.h"
#include "nfs4/nfs4.x.h"
#include "vfs/types.h"

namespace braid::nfs4::attributes {

// What of OPEN this server understands (RFC 9754 section 3): bit n stands for the value n of the enums
// open_args_*4.
struct OpenArguments {
  std::uint32_t share_access = 1U << 1U | 1U << 2U | 1U << 3U;           // READ, WRITE, BOTH
  std::uint32_t share_deny = 1U << 0U | 1U << 1U | 1U << 2U | 1U << 3U;  // NONE, READ, WRITE, BOTH
  // ANY_DELEG, NO_DELEG, CANCEL, DELEG_TIMESTAMPS, OPEN_XOR_DELEGATION
  std::uint32_t share_access_want = 1U << 3U | 1U << 4U | 1U << 5U | 1U << 20U | 1U << 21U;
  // NULL, PREVIOUS, DELEGATE_CUR, FH, DELEG_CUR_FH
  std::uint32_t open_claim = 1U << 0U | 1U << 1U | 1U << 2U | 1U << 4U | 1U << 5U;
  // UNCHECKED4, GUARDED4, EXCLUSIVE4, EXCLUSIVE4_1
  std::uint32_t create_mode = 1U << 0U | 1U << 1U | 1U << 2U | 1U << 3U;
};

// The same for every object of every export.
struct ServerFacts {
  std::uint32_t lease_seconds = 90;
  std::uint64_t read_bytes_max = MAX_PAYLOAD;
  std::uint64_t write_bytes_max = MAX_PAYLOAD;
  OpenArguments open_arguments;
  // Whether delegations may carry time stamps (RFC 9754 section 5).
  bool delegated_times = true;
  // EXCHGID4_FLAG_USE_*: what the server is to its clients (RFC 8881 13.1).
  std::uint32_t role_flags = EXCHGID4_FLAG_USE_NON_PNFS;
  // fs_layout_type of exports whose files are spread over data servers (RFC 8881 5.12.1); empty: the
  // attribute is not supported.
  std::vector<layouttype4> layout_types;
};

// Groups of facts that cost a call each.
struct Facts {
  static constexpr std::uint32_t none = 0, object = 1, owner = 2, group = 4, space = 8, limits = 16, acl = 32;
};

// One object. Only what facts_of(wanted) names needs to be filled in; the rest always. Views stay valid while
// values are written.
struct AttributeSource {
  std::uint32_t minor = 0;  // of the COMPOUND
  const ServerFacts* server = nullptr;

  vfs::Attributes object;               // Facts::object
  fsid4 fsid;                           // with Facts::object
  std::uint64_t mounted_on_fileid = 0;  // with Facts::object
  OwnerText owner;                      // Facts::owner
  OwnerText group;                      // Facts::group
  vfs::FileSystemStatus space;          // Facts::space
  vfs::FileSystemLimits limits;         // Facts::limits
  std::span<const nfsace4> acl;         // Facts::acl
  base::BytesView handle;
  std::string_view fs_root;  // path of the export, "/" or "/name/..."
  std::span<const fs_location4> locations;
  nfsstat4 rdattr_error = nfsstat4::NFS4_OK;
};

}  // namespace braid::nfs4::attributes
