#include "nfs3/attributes.h"
#include "nfs3/procs/procs.h"

namespace braid::nfs3::procs {

Op3<FSSTAT3resok, FSSTAT3resfail> fsstat(Request& request, const FSSTAT3args& args) {
  const Target target = co_await request.target(args.fsroot);
  const auto status = co_await target.fs().status(target.file).as_result();
  const post_op_attr attributes = post_op_attr_of(co_await target.attributes().as_result());
  if (!status) co_return refuse(status.error(), FSSTAT3resfail{attributes});
  co_return FSSTAT3resok{.obj_attributes = attributes,
                         .tbytes = status->bytes_total,
                         .fbytes = status->bytes_free,
                         .abytes = status->bytes_available,
                         .tfiles = status->files_total,
                         .ffiles = status->files_free,
                         .afiles = status->files_available,
                         .invarsec = 0};  // may change at any time
}

}  // namespace braid::nfs3::procs
