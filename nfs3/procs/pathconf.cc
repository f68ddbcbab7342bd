#include "nfs3/attributes.h"
#include "nfs3/procs/procs.h"

namespace braid::nfs3::procs {

Op3<PATHCONF3resok, PATHCONF3resfail> pathconf(Request& request, const PATHCONF3args& args) {
  const Target target = co_await request.target(args.object);
  const auto limits = co_await target.fs().limits(target.file).as_result();
  const post_op_attr attributes = post_op_attr_of(co_await target.attributes().as_result());
  if (!limits) co_return refuse(limits.error(), PATHCONF3resfail{attributes});
  co_return PATHCONF3resok{.obj_attributes = attributes,
                           .linkmax = limits->link_max,
                           .name_max = limits->name_bytes_max,
                           .no_trunc = limits->no_truncation,
                           .chown_restricted = limits->chown_restricted,
                           .case_insensitive = limits->case_insensitive,
                           .case_preserving = limits->case_preserving};
}

}  // namespace braid::nfs3::procs
