#include "nfs3/attributes.h"
#include "nfs3/names.h"
#include "nfs3/procs/procs.h"

namespace braid::nfs3::procs {

Op3<LOOKUP3resok, LOOKUP3resfail> lookup(Request& request, const LOOKUP3args& args) {
  const Target dir = co_await request.target(args.what.dir);
  const auto name = check_name(args.what.name, NameUse::lookup);
  if (!name) co_return refuse<LOOKUP3resfail>(name.error());
  const auto found = co_await dir.fs().lookup(dir.who, dir.file, args.what.name).as_result();
  const post_op_attr dir_attributes = post_op_attr_of(co_await dir.attributes().as_result());
  if (!found) co_return refuse(found.error(), LOOKUP3resfail{dir_attributes});
  co_return LOOKUP3resok{.object = request.keep(found->file->handle()),
                         .obj_attributes = post_op_attr::with_attributes(fattr3_of(found->attributes)),
                         .dir_attributes = dir_attributes};
}

}  // namespace braid::nfs3::procs
