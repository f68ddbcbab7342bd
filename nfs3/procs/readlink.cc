#include "nfs3/attributes.h"
#include "nfs3/procs/procs.h"

namespace braid::nfs3::procs {

Op3<READLINK3resok, READLINK3resfail> readlink(Request& request, const READLINK3args& args) {
  const Target link = co_await request.target(args.symlink);
  const auto text = co_await link.fs().readlink(link.who, link.file).as_result();
  const post_op_attr attributes = post_op_attr_of(co_await link.attributes().as_result());
  if (!text) co_return refuse(text.error(), READLINK3resfail{attributes});
  const auto data = request.keep(*text);
  if (!data) co_return refuse(nfsstat3::NFS3ERR_JUKEBOX, READLINK3resfail{attributes});
  co_return READLINK3resok{attributes, *data};
}

}  // namespace braid::nfs3::procs
