// The filehandles of data servers (RFC 8881 section 13.3, nfl_fh_list): what one lets its bearer do, signed
// so that a data server needs to ask nobody. docs/format-pnfs-handle.md is the reference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/strong.h"
#include "pnfs/keys.h"
#include "pnfs/striping.h"
#include "vfs/export.h"
#include "vfs/types.h"

namespace braid::pnfs {

// The bytes of one file on all of its servers; never used again for another file of the cluster.
struct ObjectIdTag;
using ObjectId = base::Strong<ObjectIdTag, std::uint64_t>;
// Of an object: raised when what was granted before has to end. Starts with 1.
struct EpochTag;
using Epoch = base::Strong<EpochTag, std::uint32_t>;
// Counts the layouts that a cluster has granted; starts with 1, below GrantNumber(2^48).
struct GrantNumberTag;
using GrantNumber = base::Strong<GrantNumberTag, std::uint64_t>;

// layoutiomode4 without ANY.
enum class Iomode : std::uint8_t { read = 1, read_write = 2 };

// What a handle says.
struct DataHandle {
  ObjectId object;
  std::uint32_t index = 0;  // which of the file's objects: Striping
  Striping striping;        // `first` too: the server tells by it what lies in its stripe units
  Iomode iomode = Iomode::read;
  vfs::ExportId export_id;  // of the metadata server: who may come from where
  ClientTag client;         // whom the layout was granted to
  GrantNumber grant;
  Epoch epoch;
  std::uint64_t size = 0;  // of the file when the layout was granted

  friend bool operator==(const DataHandle&, const DataHandle&) = default;
};

// Makes and verifies the handles of one key for one data server: what is signed has the server's name in it,
// so each server takes its own handles alone. Immutable, so thread-safe.
class DataHandleCodec {
 public:
  // No file handle of the metadata server begins with it (docs/filehandle.md).
  static constexpr std::uint8_t version = 0x81;
  static constexpr std::size_t bytes_count = 64;
  static_assert(bytes_count <= vfs::FileHandle::bytes_max);

  DataHandleCodec(const hashing::Key& key, KeyNumber number, const ServerId& server)
      : key_(key), number_(number), server_(server) {}

  // The striping must be valid(), `index` one of its objects, the grant number below 2^48.
  [[nodiscard]] vfs::FileHandle seal(const DataHandle& handle) const;
  // Nothing unless exactly this codec could have made it. Takes the same time wherever a forgery is wrong.
  [[nodiscard]] std::optional<DataHandle> open(base::BytesView wire) const;
  // Takes the same time wherever the MACs of two handles differ.
  [[nodiscard]] static bool same(base::BytesView a, base::BytesView b);
  // The key that a handle claims to be signed with; nothing for what is no handle of a data server. Nothing
  // is verified.
  [[nodiscard]] static std::optional<KeyNumber> key_of(base::BytesView wire);

 private:
  [[nodiscard]] Mac sign(base::BytesView wire) const;

  hashing::Key key_;
  KeyNumber number_;
  ServerId server_;
};

}  // namespace braid::pnfs
