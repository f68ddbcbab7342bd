// SEEK, ALLOCATE and DEALLOCATE of a striped file.
#include <algorithm>
#include <utility>
#include <vector>

#include "base/arith.h"
#include "pnfs_mds/striped_content.h"
#include "pnfs_mds/striped_source.h"
#include "pnfs_mds/together.h"

namespace braid::pnfs_mds {
namespace {

using pnfs::Striping;

// Each of them sees a thousand stripe units of each server, so this is more than what fits any of them.
constexpr int rounds_max = 65536;

// `failed`: the servers that have not done it are added.
base::Result<void, vfs::Error> all_done(const std::vector<pnfs::ServerNumber>& asked,
                                        const std::vector<base::Result<void, vfs::Error>>& results,
                                        std::vector<pnfs::ServerNumber>& failed) {
  base::Result<void, vfs::Error> all;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i]) continue;
    failed.push_back(asked[i]);
    if (all) all = base::fail(error_of_object(results[i].error()));
  }
  return all;
}

// From `next` on, the object's own bytes before `end`, in as many pieces as a server takes; `next` is where
// the rest begins.
std::vector<pnfs::ObjectRange> some_ranges(const Striping& striping, std::uint32_t index, std::uint64_t& next,
                                           std::uint64_t end) {
  std::vector<pnfs::ObjectRange> out;
  out.reserve(ObjectCalls::ranges_max);
  while (out.size() < ObjectCalls::ranges_max) {
    const auto own = striping.own_from(index, next);
    if (!own || *own >= end) {
      next = end;
      break;
    }
    next = std::min(striping.own_end(*own), end);
    out.push_back({.index = index, .offset = *own, .length = next - *own});
  }
  return out;
}

}  // namespace

// All servers look at the same part of the file at once, each at what it has of it. Behind the first one that
// has not seen all of it nothing is known.
vfs::VfsOp<ObjectSought> StripedContent::search(const pnfs::LayoutRecord& record, std::uint64_t offset,
                                                std::uint64_t end, vfs::SeekTo what) {
  const Striping& striping = record.striping;
  std::vector<vfs::VfsOp<ObjectSought>> ops;
  std::vector<ObjectSearch> asked;
  ops.reserve(striping.width);
  asked.reserve(striping.width);
  for (std::uint32_t i = 0; i < striping.width; ++i) {
    const std::uint64_t object_end = striping.object_end(i, end);
    const auto first = striping.own_from(i, striping.object_end(i, offset));
    if (!first || *first >= object_end) continue;
    asked.push_back({.of = key(i), .striping = striping, .offset = *first, .end = object_end, .to = what});
    ops.push_back(source_.parts_.calls.seek(record.servers[i], asked.back()));
  }
  const auto results = co_await together(std::move(ops));
  ObjectSought nearest{.found = false, .offset = end};
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i]) co_await base::fail(error_of_object(results[i].error()));
    // The server has seen all that it has.
    if (!results[i]->found && results[i]->offset >= asked[i].end) continue;
    const auto at = striping.to_file(asked[i].of.index, results[i]->offset);
    const bool moves = results[i]->found || results[i]->offset > asked[i].offset;
    if (!at || *at < offset || *at >= end || !moves) co_await base::fail(vfs::Error::io);
    if (*at < nearest.offset || (*at == nearest.offset && results[i]->found))
      nearest = {.found = results[i]->found, .offset = *at};
  }
  co_return nearest;
}

vfs::VfsOp<vfs::SeekResult> StripedContent::seek(vfs::Stub& stub, std::uint64_t offset, vfs::SeekTo what,
                                                 std::uint64_t until) {
  source_.counters_.called(InBand::seek);
  const Turns::Hold hold = co_await enter(stub);
  const pnfs::LayoutRecord record = this->record();
  const std::uint64_t size = co_await size_for(stub, Striping::offset_max);
  if (offset >= size) co_await base::fail(vfs::Error::nxio);
  const std::uint64_t end = std::clamp(until, offset + 1, size);
  const vfs::SeekResult none{.offset = end, .eof = end == size};
  std::uint64_t at = offset;
  for (int round = 0; round < rounds_max; ++round) {
    const ObjectSought next = co_await search(record, at, end, what);
    if (next.found) co_return vfs::SeekResult{.offset = next.offset, .eof = false};
    if (next.offset >= end) co_return none;
    at = next.offset;
  }
  // To take a hole for data is allowed (RFC 7862 section 15.11.3).
  if (what == vfs::SeekTo::data) co_return vfs::SeekResult{.offset = at, .eof = false};
  co_return none;
}

// What no server could have if it were empty is not begun with: else it would fill all of them first.
bool StripedContent::can_ever_have(const pnfs::LayoutRecord& record, std::uint64_t length) const {
  const std::uint64_t share = length / record.striping.width;
  const std::uint64_t least = share - std::min<std::uint64_t>(share, record.striping.unit);
  return std::ranges::all_of(record.servers, [&](pnfs::ServerNumber number) {
    const auto server = source_.parts_.servers.find(number);
    return !server || server->room.bytes_total == 0 || least <= server->room.bytes_total;
  });
}

vfs::VfsOp<> StripedContent::allocate(vfs::Stub& stub, const vfs::Credentials& /*who*/, std::uint64_t offset,
                                      std::uint64_t length) {
  source_.counters_.called(InBand::allocate);
  const Changes::Hold change = calls().changes.begin(source_.parts_.clock.now());
  const auto end = base::end_of<std::uint64_t>(offset, length, Striping::offset_max);
  if (!end) co_await base::fail(vfs::Error::fbig);
  Failed failed;
  const auto done = co_await allocate_in_turn(stub, offset, *end, failed).as_result();
  co_await outlast<void>(failed, done);
}

vfs::VfsOp<> StripedContent::allocate_in_turn(vfs::Stub& stub, std::uint64_t offset, std::uint64_t end,
                                              Failed& failed) {
  const Turns::Hold hold = co_await enter(stub);
  const pnfs::LayoutRecord record = this->record();
  const Striping& striping = record.striping;
  if (!can_ever_have(record, end - offset)) co_await base::fail(vfs::Error::nospc);
  const vfs::Attributes now = co_await stub.attributes();
  if (end > now.size) co_await keep_growing();
  // Truncations have numbers of grants, and none runs as long as this has its turn.
  const std::uint64_t number = source_.parts_.grants.last().value();
  std::vector<std::uint64_t> next(striping.width);
  for (std::uint32_t i = 0; i < striping.width; ++i) next[i] = striping.object_end(i, offset);
  for (;;) {
    std::vector<vfs::VfsOp<void>> ops;
    std::vector<pnfs::ServerNumber> asked;
    ops.reserve(striping.width);
    asked.reserve(striping.width);
    for (std::uint32_t i = 0; i < striping.width; ++i) {
      auto ranges = some_ranges(striping, i, next[i], striping.object_end(i, end));
      if (ranges.empty()) continue;
      ObjectAllocation what{.of = key(i),
                            .ranges = std::move(ranges),
                            .owner = {.uid = now.uid, .gid = now.gid},
                            .number = number};
      ops.push_back(source_.parts_.calls.allocate(record.servers[i], std::move(what)));
      asked.push_back(record.servers[i]);
    }
    if (ops.empty()) break;
    const auto results = co_await together(std::move(ops));
    // The space of the file is another one, and perhaps its size.
    note_behind();
    co_await all_done(asked, results, failed);
  }
  co_await raise(stub, end, true);
  source_.parts_.dirty.put(object_, file());
  co_await source_.parts_.dirty.keep(object_);
}

vfs::VfsOp<> StripedContent::deallocate(vfs::Stub& stub, const vfs::Credentials& /*who*/,
                                        std::uint64_t offset, std::uint64_t length) {
  source_.counters_.called(InBand::deallocate);
  const Changes::Hold change = calls().changes.begin(source_.parts_.clock.now());
  const auto end = base::end_of<std::uint64_t>(offset, length, Striping::offset_max);
  if (!end) co_await base::fail(vfs::Error::fbig);
  Failed failed;
  const auto done = co_await deallocate_in_turn(stub, offset, *end, failed).as_result();
  co_await outlast<void>(failed, done);
}

vfs::VfsOp<> StripedContent::deallocate_in_turn(vfs::Stub& stub, std::uint64_t offset, std::uint64_t end,
                                                Failed& failed) {
  const Turns::Hold hold = co_await enter(stub);
  const pnfs::LayoutRecord record = this->record();
  std::vector<vfs::VfsOp<void>> ops;
  std::vector<pnfs::ServerNumber> asked;
  ops.reserve(record.striping.width);
  asked.reserve(record.striping.width);
  for (std::uint32_t i = 0; i < record.striping.width; ++i) {
    // A sparse object has holes where the bytes of others are, so one piece is all of it.
    const std::uint64_t from = record.striping.object_end(i, offset);
    const std::uint64_t to = record.striping.object_end(i, end);
    if (from >= to) continue;
    const pnfs::ObjectRange range{.index = i, .offset = from, .length = to - from};
    ops.push_back(source_.parts_.calls.deallocate(record.servers[i], range, object_));
    asked.push_back(record.servers[i]);
  }
  const auto results = co_await together(std::move(ops));
  note_behind();
  co_await all_done(asked, results, failed);
  co_await raise(stub, 0, true);
}

}  // namespace braid::pnfs_mds
