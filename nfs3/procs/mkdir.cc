#include "nfs3/attributes.h"
#include "nfs3/names.h"
#include "nfs3/procs/made.h"
#include "nfs3/procs/procs.h"

namespace braid::nfs3::procs {

Op3<MKDIR3resok, MKDIR3resfail> mkdir(Request& request, const MKDIR3args& args) {
  const Target dir = co_await request.target(args.where.dir);
  const auto name = check_name(args.where.name, NameUse::create);
  if (!name) co_return refuse<MKDIR3resfail>(name.error());
  const auto set = set_attributes_of(args.attributes);
  if (!set) co_return refuse<MKDIR3resfail>(set.error());
  vfs::Wcc wcc;
  const auto found = co_await dir.fs().mkdir(dir.who, dir.file, args.where.name, *set, wcc).as_result();
  if (!found) co_return refuse(found.error(), MKDIR3resfail{wcc_data_of(wcc)});
  co_return made<MKDIR3resok>(request, *found, wcc);
}

}  // namespace braid::nfs3::procs
