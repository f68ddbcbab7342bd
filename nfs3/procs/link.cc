#include "nfs3/attributes.h"
#include "nfs3/names.h"
#include "nfs3/procs/procs.h"

namespace braid::nfs3::procs {

Op3<LINK3resok, LINK3resfail> link(Request& request, const LINK3args& args) {
  const Target target = co_await request.target(args.file);
  const Target dir = co_await request.target(args.link.dir);
  const auto name = check_name(args.link.name, NameUse::create);
  if (!name) co_return refuse<LINK3resfail>(name.error());
  if (target.from != dir.from) co_return refuse<LINK3resfail>(nfsstat3::NFS3ERR_XDEV);
  vfs::Wcc wcc;
  const auto done = co_await dir.fs().link(dir.who, target.file, dir.file, args.link.name, wcc).as_result();
  const post_op_attr attributes = post_op_attr_of(co_await target.attributes().as_result());
  if (!done) co_return refuse(done.error(), LINK3resfail{attributes, wcc_data_of(wcc)});
  co_return LINK3resok{attributes, wcc_data_of(wcc)};
}

}  // namespace braid::nfs3::procs
