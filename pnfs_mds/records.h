// The records of the metadata server's logs. docs/format-pnfs-mds.md is the reference.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "pnfs/data_handle.h"
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

// Records of one object may be in the log in another order than that of their versions: the one with the
// largest version counts.
using RecordVersion = std::uint64_t;

// Of the log `dirty`: data servers may know of more of the file than its stub on the medium.
struct DirtyObject {
  RecordVersion version = 0;
  pnfs::ObjectId object;
  vfs::FileHandle file;  // the stub's; empty: nobody knows
  friend bool operator==(const DirtyObject&, const DirtyObject&) = default;
};
// They do not.
struct CleanObject {
  RecordVersion version = 0;
  pnfs::ObjectId object;
  friend bool operator==(const CleanObject&, const CleanObject&) = default;
};
using DirtyRecord = std::variant<DirtyObject, CleanObject>;
base::Bytes encode(const DirtyRecord& record);
std::optional<DirtyRecord> decode_dirty(base::BytesView record);

// Of the log `truncations`: the file is to have this size, and its objects these ends.
struct TruncationRecord {
  RecordVersion version = 0;
  pnfs::ObjectId object;
  pnfs::Epoch epoch;
  std::uint64_t number = 0;  // ObjectTruncation
  std::uint64_t size = 0;
  bool answered = false;  // the stub has the size; `left` are servers that had no contact
  vfs::FileHandle file;
  struct Left {
    std::uint32_t index = 0;  // of the object
    pnfs::ServerNumber server;
    std::uint64_t end = 0;  // that the object is to have, in bytes
    friend bool operator==(const Left&, const Left&) = default;
  };
  std::vector<Left> left;  // what has not been cut yet; at most Striping::width_max
  friend bool operator==(const TruncationRecord&, const TruncationRecord&) = default;
};
// All of its servers have it.
struct TruncationDone {
  RecordVersion version = 0;
  pnfs::ObjectId object;
  friend bool operator==(const TruncationDone&, const TruncationDone&) = default;
};
using TruncationLogRecord = std::variant<TruncationRecord, TruncationDone>;
base::Bytes encode(const TruncationLogRecord& record);
std::optional<TruncationLogRecord> decode_truncation(base::BytesView record);

}  // namespace braid::pnfs_mds
