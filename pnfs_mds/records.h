// The records of the metadata server's logs. docs/format-pnfs-mds.md is the reference.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "pnfs/layout_record.h"
#include "pnfs_mds/data_servers.h"
#include "vfs/types.h"

namespace braid::pnfs_mds {

// Of the log `servers`: what of a server outlives the process. Names and addresses have at most 255 bytes.
base::Bytes encode(const DataServerInfo& server);
// Nothing for what encode() does not make.
std::optional<DataServerInfo> decode_server(base::BytesView record);

// Of the log `removals`: a file is about to lose its last name.
struct RemovalIntent {
  pnfs::ObjectId object;
  std::vector<pnfs::ServerNumber> servers;  // of object 0, 1, ...; at most Striping::width_max
  vfs::FileHandle file;                     // the stub's
  friend bool operator==(const RemovalIntent&, const RemovalIntent&) = default;
};
// Its objects are gone.
struct RemovalDone {
  pnfs::ObjectId object;
  friend bool operator==(const RemovalDone&, const RemovalDone&) = default;
};
using RemovalRecord = std::variant<RemovalIntent, RemovalDone>;
base::Bytes encode(const RemovalRecord& record);
std::optional<RemovalRecord> decode_removal(base::BytesView record);

}  // namespace braid::pnfs_mds
