// What both sides of a cluster say of an object: what one data server keeps of a file.
#pragma once

#include <cstdint>
#include <optional>

#include "pnfs/data_handle.h"

namespace braid::pnfs {

struct ObjectKey {
  ObjectId object;
  std::uint32_t index = 0;  // Striping
  friend auto operator<=>(const ObjectKey&, const ObjectKey&) = default;
};

// Handles for writing that a client keeps though the epoch is raised: what was granted to it by number `from`
// (which is not 0) or later.
struct KeptHandles {
  ClientTag client{};
  GrantNumber from{};
  friend bool operator==(const KeptHandles&, const KeptHandles&) = default;
};

// Handles of the object with a lower epoch are refused, but for those that are kept. All that there may be
// were granted by number `last` or before.
struct EpochFence {
  ObjectKey of;
  Epoch epoch;
  GrantNumber last;
  std::optional<KeptHandles> kept{};
  friend bool operator==(const EpochFence&, const EpochFence&) = default;
};

// Whom an object belongs to: the owner of its file, so that quotas count.
struct ObjectOwner {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  friend bool operator==(const ObjectOwner&, const ObjectOwner&) = default;
};

// What a data server asks of a file: FILE_FACTS of control.x.
struct FileFacts {
  std::uint64_t size = 0;  // settled
  ObjectOwner owner;       // of its objects
};

}  // namespace braid::pnfs
