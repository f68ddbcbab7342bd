#include "nfs3/attributes.h"
#include "nfs3/names.h"
#include "nfs3/procs/procs.h"

namespace braid::nfs3::procs {

Op3<REMOVE3resok, REMOVE3resfail> remove(Request& request, const REMOVE3args& args) {
  const Target dir = co_await request.target(args.object.dir);
  const auto name = check_name(args.object.name, NameUse::remove);
  if (!name) co_return refuse<REMOVE3resfail>(name.error());
  vfs::Wcc wcc;
  const auto done = co_await dir.fs().remove(dir.who, dir.file, args.object.name, wcc).as_result();
  if (!done) co_return refuse(done.error(), REMOVE3resfail{wcc_data_of(wcc)});
  co_return REMOVE3resok{wcc_data_of(wcc)};
}

}  // namespace braid::nfs3::procs
