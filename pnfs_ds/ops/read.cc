#include <algorithm>
#include <cstdint>
#include <utility>

#include "nfs4/options.h"
#include "pnfs/zeros.h"
#include "pnfs_ds/ops/operations.h"

namespace braid::pnfs_ds::ops {
namespace {

// What the object does not have of `wanted` bytes from `offset` on.
struct Rest {
  std::uint64_t zeros = 0;
  bool eof = false;
};

// `end`: behind the last byte that the object had; `size` of the file.
Rest rest_of(const pnfs::DataHandle& handle, std::uint64_t offset, std::uint64_t end,
             std::uint64_t wanted_end, std::uint64_t size) {
  const std::uint64_t file_end_here = std::max(handle.striping.object_end(handle.index, size), end);
  Rest rest;
  rest.zeros = std::min(wanted_end, file_end_here) - end;
  const std::uint64_t last = end + rest.zeros;
  if (last == offset) {
    rest.eof = true;
    return rest;
  }
  const auto at = handle.striping.to_file(handle.index, last - 1);
  rest.eof = !at || *at + 1 >= size;
  return rest;
}

// What lies before the end of the file reads as zeros, whether there is an object for it or not: the size
// that the handle tells of is enough where it reaches, else the metadata server knows.
nfs4::Op4<nfs4::READ4resok> fill_up(DataServer& server, const pnfs::DataHandle& handle, std::uint64_t offset,
                                    std::uint64_t wanted_end, io::Payload data) {
  const std::uint64_t end = offset + data.size();
  Rest rest;
  if (wanted_end <= handle.striping.object_end(handle.index, handle.size)) {
    rest = rest_of(handle, offset, end, wanted_end, handle.size);
    rest.eof = false;  // the file may have grown
  } else {
    const FileFacts facts = co_await server.facts_of(handle.object);
    rest = rest_of(handle, offset, end, wanted_end, facts.size);
  }
  pnfs::append_zeros(data, rest.zeros, server.zeros());
  co_return nfs4::READ4resok{.eof = rest.eof, .data = std::move(data)};
}

}  // namespace

nfs4::Op4<nfs4::READ4resok> read(nfs4::Compound& compound, const nfs4::READ4args& args) {
  const HandleFile& file = *co_await object_at(compound);
  co_await check_stateid(compound, args.stateid);
  DataServer& server = file.server();
  const pnfs::DataHandle& handle = file.data();
  const std::uint64_t offset = std::min(args.offset, pnfs::Striping::offset_max);
  const std::uint32_t wanted = std::min(args.count, compound.server().options.read_bytes_max);
  const auto count =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(wanted, pnfs::Striping::offset_max - offset));
  co_await DataServer::check_stripe(handle, offset, count);
  Objects::Use use(server.objects(), file.key());
  use.begin();
  co_await server.admit(file, false);
  const auto opened = co_await server.objects().find(use).as_result();
  if (!opened) co_await nfs4::refuse(server.status_of(opened.error()));
  vfs::ReadResult got;
  if (*opened && count > 0) {
    auto read = co_await server.objects().read(**opened, offset, count, compound.read_memory()).as_result();
    if (!read) co_await nfs4::refuse(server.status_of(read.error()));
    got = std::move(*read);
  }
  // The metadata server may be waiting for the end of what runs on this object.
  use.end();
  if (got.data.size() == count) co_return nfs4::READ4resok{.eof = false, .data = std::move(got.data)};
  co_return co_await fill_up(server, handle, offset, offset + count, std::move(got.data));
}

}  // namespace braid::pnfs_ds::ops
