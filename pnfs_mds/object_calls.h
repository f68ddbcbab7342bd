// What the metadata server does to the objects of its data servers. docs/protocol-pnfs-control.md.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "base/result.h"
#include "io/payload.h"
#include "pnfs/data_handle.h"
#include "pnfs/layout_record.h"
#include "pnfs/object.h"
#include "pnfs/striping.h"
#include "vfs/open_file.h"
#include "vfs/types.h"

namespace braid::pnfs_mds {

using pnfs::EpochFence;
using pnfs::ObjectKey;

struct ObjectRead {
  io::Payload data;       // fewer bytes than were asked for only at the object's end
  std::uint64_t end = 0;  // of the object, in bytes
};

struct ObjectWrite {
  ObjectKey of;
  std::uint64_t offset = 0;  // in the object
  vfs::Stability stability = vfs::Stability::unstable;
  std::uint32_t uid = 0, gid = 0;  // to whom the object belongs, if this makes it
};
struct ObjectWritten {
  std::uint32_t count = 0;
  vfs::Stability committed = vfs::Stability::unstable;
  vfs::Verifier verifier;
};

// Of objects that their server has said are written to, when it is asked where they end.
enum class NextWrite {
  is_announced,  // before it: from now on they count as settled
  is_expected,   // the server need not say so again
};
struct ObjectStat {
  std::uint64_t end = 0;         // 0 for an object that was never written to
  std::uint64_t space_used = 0;  // bytes
  bool changed = false;          // written to since the last stat(), or since the server started
};

// What was granted to the client by number `last` or before is refused.
struct ClientFence {
  pnfs::ClientTag client;
  pnfs::GrantNumber last;
};
// Handles with a lower grant number are refused.
struct LowestFence {
  pnfs::GrantNumber lowest;
};
using Fence = std::variant<EpochFence, ClientFence, LowestFence>;

struct ObjectTruncation {
  EpochFence fence;
  std::uint64_t end = 0;  // in bytes
  // An object that was cut with this number or a larger one, since its server started, stays as it is.
  std::uint64_t number = 0;
};
struct ObjectRemoval {
  ObjectKey of;
  pnfs::GrantNumber last;  // the newest that may have been granted
};

struct ObjectSearch {
  ObjectKey of;
  pnfs::Striping striping;   // of the file: bytes of the object that are none of the file do not count
  std::uint64_t offset = 0;  // in the object
  std::uint64_t end = 0;     // what lies there or behind is of no interest
  vfs::SeekTo to = vfs::SeekTo::data;
};
struct ObjectSought {
  bool found = false;
  std::uint64_t offset = 0;  // of it; or up to where there is nothing such, `end` or a byte of the object
};
struct ObjectAllocation {
  ObjectKey of;
  std::vector<pnfs::ObjectRange> ranges;  // 1 to ranges_max; `index` is that of the object
  pnfs::ObjectOwner owner;                // if this makes it
  std::uint64_t number = 0;               // no truncation that came before has a larger one
};

// For each object of a batch, in their order.
template <class T>
using EachObject = std::vector<base::Result<T, vfs::Error>>;

// Thread-safe; on a reactor. No call takes longer than a bounded time: `delay` says that a server was silent
// for so long, has no contact, or cannot do it now; then the call may have been executed, or may be later. As
// long as one that changes bytes may, outlast() has not returned, and others that do are `delay`.
// `stale`: the object is gone for ever. `io`: there is no such server, or its medium failed. A batch has at
// most `batch_max` objects; its own error is that of all of them.
class ObjectCalls {
 public:
  static constexpr std::size_t batch_max = 1024;
  static constexpr std::size_t ranges_max = 64;

  virtual ~ObjectCalls() = default;
  ObjectCalls(const ObjectCalls&) = delete;
  ObjectCalls& operator=(const ObjectCalls&) = delete;

  // At most BULK_BYTES_MAX of control.x. What is not there reads as nothing.
  virtual vfs::VfsOp<ObjectRead> read(pnfs::ServerNumber server, ObjectKey of, std::uint64_t offset,
                                      std::uint32_t count) = 0;
  // The object is made if there is none. `data` is in memory, and at most BULK_BYTES_MAX.
  virtual vfs::VfsOp<ObjectWritten> write(pnfs::ServerNumber server, ObjectWrite what, io::Payload data) = 0;
  // All bytes of the object; the result is as that of vfs::OpenFile::commit().
  virtual vfs::VfsOp<vfs::Verifier> commit(pnfs::ServerNumber server, ObjectKey of) = 0;
  virtual vfs::VfsOp<EachObject<ObjectStat>> stat(pnfs::ServerNumber server, std::vector<ObjectKey> of,
                                                  NextWrite next) = 0;
  // Fence and size are on the medium on return. An object that is not there is not made.
  virtual vfs::VfsOp<EachObject<void>> truncate(pnfs::ServerNumber server,
                                                std::vector<ObjectTruncation> objects) = 0;
  // For ever: no handle makes them again. The same for objects that are not there.
  virtual vfs::VfsOp<EachObject<void>> remove(pnfs::ServerNumber server,
                                              std::vector<ObjectRemoval> objects) = 0;
  // The first byte that has data, or none. Behind the object's end there is no data.
  virtual vfs::VfsOp<ObjectSought> seek(pnfs::ServerNumber server, ObjectSearch what) = 0;
  // Room for these bytes. The object is made if there is none, and longer if they end behind it. delay, too:
  // it was cut since.
  virtual vfs::VfsOp<> allocate(pnfs::ServerNumber server, ObjectAllocation what) = 0;
  // These bytes of object `range.index` read as zeros and need no room. Its end stays.
  virtual vfs::VfsOp<> deallocate(pnfs::ServerNumber server, pnfs::ObjectRange range,
                                  pnfs::ObjectId object) = 0;
  // All of them are on the medium on return, or perhaps some, after an error.
  virtual vfs::VfsOp<> fence(pnfs::ServerNumber server, std::vector<Fence> fences) = 0;
  // Returns when no write(), allocate() or deallocate() that this thread has made runs any more, or will, but
  // for those that have not returned. Takes as long as the server is away. io: it is lost. delay: this server
  // stops.
  virtual vfs::VfsOp<> outlast(pnfs::ServerNumber server) = 0;

 protected:
  ObjectCalls() = default;
};

}  // namespace braid::pnfs_mds
