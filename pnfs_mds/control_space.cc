// Parts of objects, by the control protocol.
#include <utility>
#include <vector>

#include "pnfs_mds/control_calls.h"

namespace braid::pnfs_mds {

vfs::VfsOp<ObjectSought> ControlCalls::seek(pnfs::ServerNumber server, ObjectSearch what) {
  const pnfs::object_striping striping{.unit = what.striping.unit,
                                       .width = what.striping.width,
                                       .first = what.striping.first,
                                       .dense = what.striping.packing == pnfs::Packing::dense};
  const auto args = pnfs::to_data_args::with_seek({.of = {what.of.object.value(), what.of.index},
                                                   .offset = what.offset,
                                                   .end = what.end,
                                                   .to_data = what.to == vfs::SeekTo::data,
                                                   .striping = striping});
  const Reply reply = co_await ask(server, About::bytes, args);
  const pnfs::OBJECT_SEEKres& result = *reply.result.seek();
  if (result.status != 0) co_await base::fail(error_of_status(result.status));
  const pnfs::object_sought& sought = *result.sought();
  if (sought.offset < what.offset || sought.offset > what.end) co_await base::fail(vfs::Error::io);
  co_return ObjectSought{.found = sought.found, .offset = sought.offset};
}

vfs::VfsOp<> ControlCalls::allocate(pnfs::ServerNumber server, ObjectAllocation what) {
  std::vector<pnfs::object_range> ranges;
  ranges.reserve(what.ranges.size());
  for (const pnfs::ObjectRange& range : what.ranges)
    ranges.push_back({.offset = range.offset, .length = range.length});
  const auto args = pnfs::to_data_args::with_allocate({.of = {what.of.object.value(), what.of.index},
                                                       .ranges = ranges,
                                                       .uid = what.owner.uid,
                                                       .gid = what.owner.gid,
                                                       .number = what.number});
  const Reply reply = co_await ask(server, About::new_bytes, args);
  const pnfs::data_status status = reply.result.allocate()->status;
  if (status != 0) co_await base::fail(error_of_status(status));
}

vfs::VfsOp<> ControlCalls::deallocate(pnfs::ServerNumber server, pnfs::ObjectRange range,
                                      pnfs::ObjectId object) {
  const auto args = pnfs::to_data_args::with_deallocate(
      {.of = {object.value(), range.index}, .range = {.offset = range.offset, .length = range.length}});
  const Reply reply = co_await ask(server, About::new_bytes, args);
  const pnfs::data_status status = reply.result.deallocate()->status;
  if (status != 0) co_await base::fail(error_of_status(status));
}

}  // namespace braid::pnfs_mds
