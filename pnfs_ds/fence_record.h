// What a data server must not forget of the handles that it is to refuse. docs/format-pnfs-fences.md.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "base/bytes.h"
#include "pnfs/data_handle.h"
#include "pnfs/object.h"

namespace braid::pnfs_ds {

using pnfs::EpochFence;
using pnfs::ObjectKey;

// The object is gone for ever: no handle of it makes it again.
struct RemovedObject {
  ObjectKey of;
  pnfs::GrantNumber last;
  friend bool operator==(const RemovedObject&, const RemovedObject&) = default;
};
// What was granted to the client by number `last` or before is refused.
struct BarredClient {
  pnfs::ClientTag client;
  pnfs::GrantNumber last;
  friend bool operator==(const BarredClient&, const BarredClient&) = default;
};
// Handles with a lower grant number are refused, whoever brings them: their layouts have been returned.
struct LowestGrant {
  pnfs::GrantNumber grant;
  friend bool operator==(const LowestGrant&, const LowestGrant&) = default;
};
using FenceRecord = std::variant<EpochFence, RemovedObject, BarredClient, LowestGrant>;

base::Bytes encode(const FenceRecord& record);
// Nothing for what encode() does not make.
std::optional<FenceRecord> decode_fence(base::BytesView bytes);

}  // namespace braid::pnfs_ds
