#include "nfs3/attributes.h"
#include "nfs3/names.h"
#include "nfs3/procs/procs.h"

namespace braid::nfs3::procs {

Op3<RMDIR3resok, RMDIR3resfail> rmdir(Request& request, const RMDIR3args& args) {
  const Target dir = co_await request.target(args.object.dir);
  const auto name = check_name(args.object.name, NameUse::rmdir);
  if (!name) co_return refuse<RMDIR3resfail>(name.error());
  vfs::Wcc wcc;
  const auto done = co_await dir.fs().rmdir(dir.who, dir.file, args.object.name, wcc).as_result();
  if (!done) co_return refuse(done.error(), RMDIR3resfail{wcc_data_of(wcc)});
  co_return RMDIR3resok{wcc_data_of(wcc)};
}

}  // namespace braid::nfs3::procs
