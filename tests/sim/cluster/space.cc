// What a model client asks of the room that a file takes: ALLOCATE and DEALLOCATE, by the metadata server.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tests/sim/cluster/client.h"

namespace braid::sim::cluster {
namespace {

using enum nfsstat4;

// Of the cells that one of them takes.
constexpr std::uint32_t cells_more = 3;

}  // namespace

// It writes nothing, and what is longer after it stays so.
SessionOp<> Client::allocate(OpenedRef opened) {
  const std::uint32_t first = some_cell();
  const std::uint32_t last =
      std::min(first + static_cast<std::uint32_t>(random_.below(cells_more)), world_.cells - 1);
  const std::uint64_t length = end_of(last) - offset_of(first);
  Write& write = world_.oracle.write_begins(
      {.client = traits_.index, .file = opened->file, .cells = {}, .room_end = end_of(last)});
  Request operation;
  operation.add(nfs_opnum4::OP_ALLOCATE, ALLOCATE4args{opened->open, offset_of(first), length});
  const auto done =
      co_await repeat(opened, std::move(operation), fmt::format("allocates cells {} to {}", first, last))
          .as_result();
  if (!done) {
    world_.oracle.write_abandoned(write);
    co_await base::fail(done.error());
  }
  world_.oracle.write_answered(write, done->status == NFS4_OK, true, true, false);
}

SessionOp<> Client::deallocate(OpenedRef opened) {
  const std::uint32_t first = some_cell();
  const std::uint32_t last =
      std::min(first + static_cast<std::uint32_t>(random_.below(cells_more)), world_.cells - 1);
  const std::uint64_t length = end_of(last) - offset_of(first);
  Punch& punch = world_.oracle.punch_begins(opened->file, first, last);
  if (world_.plant == Plant::imagined_holes) {
    world_.oracle.punch_answered(punch, true);
    co_return;
  }
  Request operation;
  operation.add(nfs_opnum4::OP_DEALLOCATE, DEALLOCATE4args{opened->open, offset_of(first), length});
  const auto done =
      co_await repeat(opened, std::move(operation), fmt::format("deallocates cells {} to {}", first, last))
          .as_result();
  world_.oracle.punch_answered(punch, done && done->status == NFS4_OK);
  if (!done) co_await base::fail(done.error());
}

}  // namespace braid::sim::cluster
