#include "pnfs_ds/control_space.h"

#include <utility>
#include <vector>

#include "base/arith.h"
#include "pnfs/striping.h"
#include "pnfs_ds/control_values.h"
#include "pnfs_ds/object_space.h"

namespace braid::pnfs_ds {
namespace {

using nfs4::nfsstat4;
using pnfs::Striping;

// OK if an object can have all of these bytes.
nfsstat4 check(const pnfs::object_range& range) {
  if (range.length == 0) return nfsstat4::NFS4ERR_INVAL;
  const auto end = base::end_of<std::uint64_t>(range.offset, range.length, Striping::offset_max);
  return end ? nfsstat4::NFS4_OK : nfsstat4::NFS4ERR_FBIG;
}

}  // namespace

pnfs::ControlOp<pnfs::OBJECT_SEEKres> object_seek(Objects& objects, const pnfs::OBJECT_SEEKargs& args) {
  using Res = pnfs::OBJECT_SEEKres;
  const Striping striping{.unit = args.striping.unit,
                          .width = args.striping.width,
                          .first = args.striping.first,
                          .packing = args.striping.dense ? pnfs::Packing::dense : pnfs::Packing::sparse};
  const bool range_fits = args.offset <= args.end && args.end <= Striping::offset_max;
  if (!striping.valid() || args.of.index >= striping.width || !range_fits)
    co_return Res::with_default(number(nfsstat4::NFS4ERR_INVAL));
  const auto what = args.to_data ? vfs::SeekTo::data : vfs::SeekTo::hole;
  const SearchRange range{.offset = args.offset, .end = args.end};
  const auto sought = co_await seek(objects, key_of(args.of), striping, range, what).as_result();
  if (!sought) co_return Res::with_default(number(sought));
  co_return Res::with_sought({.found = sought->found, .offset = sought->offset});
}

pnfs::ControlOp<pnfs::OBJECT_ALLOCATEres> object_allocate(Objects& objects,
                                                          const pnfs::OBJECT_ALLOCATEargs& args) {
  std::vector<ByteRange> ranges;
  ranges.reserve(args.ranges.size());
  for (const pnfs::object_range& range : args.ranges) {
    if (const nfsstat4 wrong = check(range); wrong != nfsstat4::NFS4_OK)
      co_return pnfs::OBJECT_ALLOCATEres{number(wrong)};
    ranges.push_back({.offset = range.offset, .length = range.length});
  }
  const ObjectOwner owner{.uid = args.uid, .gid = args.gid};
  const auto done =
      co_await allocate(objects, key_of(args.of), owner, std::move(ranges), args.number).as_result();
  co_return pnfs::OBJECT_ALLOCATEres{number(done)};
}

pnfs::ControlOp<pnfs::OBJECT_DEALLOCATEres> object_deallocate(Objects& objects,
                                                              const pnfs::OBJECT_DEALLOCATEargs& args) {
  if (const nfsstat4 wrong = check(args.range); wrong != nfsstat4::NFS4_OK)
    co_return pnfs::OBJECT_DEALLOCATEres{number(wrong)};
  const ByteRange range{.offset = args.range.offset, .length = args.range.length};
  const auto done = co_await deallocate(objects, key_of(args.of), range).as_result();
  co_return pnfs::OBJECT_DEALLOCATEres{number(done)};
}

}  // namespace braid::pnfs_ds
