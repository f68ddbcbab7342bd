#include "nfs3/attributes.h"
#include "nfs3/procs/procs.h"

namespace braid::nfs3::procs {

Op3<GETATTR3resok> getattr(Request& request, const GETATTR3args& args) {
  const Target target = co_await request.target(args.object);
  const auto attributes = co_await target.attributes().as_result();
  if (!attributes) co_return refuse(attributes.error());
  co_return GETATTR3resok{fattr3_of(*attributes)};
}

}  // namespace braid::nfs3::procs
