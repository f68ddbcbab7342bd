#include <utility>

#include "nfs4/ops/file_operations.h"

namespace braid::nfs4::ops {
namespace {

Op4<> put_later(Compound& compound, Op4<Place> resolving) {
  compound.set_current(co_await std::move(resolving));
}

}  // namespace

// Stands in nearly every COMPOUND, so it does without a coroutine where it can.
Op4<> putfh(Compound& compound, const PUTFH4args& args) {
  Op4<Place> resolving = compound.resolve(args.object);
  resolving.start(compound.call().peer_id);
  if (!resolving.done()) return put_later(compound, std::move(resolving));
  Result4<Place>& place = resolving.result();
  if (!place) return refuse(place.error());
  compound.set_current(std::move(*place));
  return io::ready_op<nfsstat4>();
}

}  // namespace braid::nfs4::ops
