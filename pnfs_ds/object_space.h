// Parts of objects: where there is data, room that is kept for some, and holes.
#pragma once

#include <cstdint>
#include <vector>

#include "pnfs/object.h"
#include "pnfs/striping.h"
#include "pnfs_ds/objects.h"
#include "vfs/open_file.h"

namespace braid::pnfs_ds {

struct SearchRange {
  std::uint64_t offset = 0;  // in the object
  std::uint64_t end = 0;     // what lies there or behind is of no interest
};
struct Sought {
  bool found = false;
  std::uint64_t offset = 0;  // object_sought of control.x
  friend bool operator==(const Sought&, const Sought&) = default;
};

// Of the bytes that the striping gives to the object, the first one that has data, or none. So many of its
// runs are looked at in a call.
constexpr int seek_runs_max = 1024;
vfs::VfsOp<Sought> seek(Objects& objects, pnfs::ObjectKey key, pnfs::Striping striping, SearchRange range,
                        vfs::SeekTo what);

struct ByteRange {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;  // not 0; the end is one that an object can have
};
// The object is made if there is none. stale: it was removed for ever. delay: a truncation with a larger
// number than `number` has begun.
vfs::VfsOp<> allocate(Objects& objects, pnfs::ObjectKey key, pnfs::ObjectOwner owner,
                      std::vector<ByteRange> ranges, std::uint64_t number);
// An object that is not there is not made.
vfs::VfsOp<> deallocate(Objects& objects, pnfs::ObjectKey key, ByteRange range);

}  // namespace braid::pnfs_ds
