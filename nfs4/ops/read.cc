#include <algorithm>
#include <limits>

#include "nfs4/ops/file_operations.h"
#include "nfs4/ops/io_support.h"
#include "nfs4/options.h"
#include "nfs4/state/opens/share.h"

namespace braid::nfs4::ops {

Op4<READ4resok> read(Compound& compound, const READ4args& args) {
  const Place& at = *co_await compound.current_in_export(nfsstat4::NFS4ERR_ISDIR);
  const state::IoGrant grant = co_await authorize_io(compound, args.stateid, state::share_read);
  // What lies beyond the largest file offset is beyond the end of every file: nothing to read there, and no
  // error.
  constexpr std::uint64_t offset_max = std::numeric_limits<std::int64_t>::max();
  const std::uint64_t offset = std::min(args.offset, offset_max);
  const std::uint32_t wanted = std::min(args.count, compound.server().options.read_bytes_max);
  const auto count = static_cast<std::uint32_t>(std::min<std::uint64_t>(wanted, offset_max - offset));
  const GrantedFile file(grant, at);
  auto got = co_await file->read(offset, count, compound.read_memory()).as_result();
  if (!got) co_await refuse_on_file(compound, at, got.error());
  compound.read(got->data.size());
  co_return READ4resok{.eof = got->eof, .data = std::move(got->data)};
}

}  // namespace braid::nfs4::ops
