#include <limits>

#include "base/arith.h"
#include "nfs4/io_authorizer.h"
#include "nfs4/ops/file_operations.h"
#include "nfs4/state/opens/share.h"

namespace braid::nfs4::ops {

Op4<COMMIT4resok> commit(Compound& compound, const COMMIT4args& args) {
  const Place& at = *co_await compound.current_in_export(nfsstat4::NFS4ERR_ISDIR);
  // RFC 8881 18.3.3: INVAL when the end is above what 64 bits hold.
  if (!base::end_of<std::uint64_t>(args.offset, args.count)) co_await refuse(nfsstat4::NFS4ERR_INVAL);
  // A range that no file can have means the whole file.
  constexpr std::uint64_t offset_max = std::numeric_limits<std::int64_t>::max();
  const bool possible = base::end_of<std::uint64_t>(args.offset, args.count, offset_max).has_value();
  if (IoAuthorizer* const authorizer = compound.server().authorizer)
    co_await authorizer->authorize(compound, at, nullptr, state::share_write);
  const vfs::Borrowed file = at.fs().borrow(at.who, at.file);
  const auto done =
      co_await file->commit(at.who, possible ? args.offset : 0, possible ? args.count : 0).as_result();
  if (!done) co_await refuse_on_file(compound, at, done.error());
  co_return COMMIT4resok{done->bytes};
}

}  // namespace braid::nfs4::ops
