#include <optional>

#include "nfs3/attributes.h"
#include "nfs3/procs/procs.h"

namespace braid::nfs3::procs {

Op3<SETATTR3resok, SETATTR3resfail> setattr(Request& request, const SETATTR3args& args) {
  const Target target = co_await request.target(args.object);
  const auto set = set_attributes_of(args.new_attributes);
  if (!set) co_return refuse<SETATTR3resfail>(set.error());
  std::optional<vfs::Time> guard;
  if (const nfstime3* ctime = args.guard.obj_ctime()) guard = vfs::Time{ctime->seconds, ctime->nseconds};
  vfs::Wcc wcc;
  const auto done = co_await target.fs().setattr(target.who, target.file, *set, guard, &wcc).as_result();
  if (!done) co_return refuse(done.error(), SETATTR3resfail{wcc_data_of(wcc)});
  co_return SETATTR3resok{wcc_data_of(wcc)};
}

}  // namespace braid::nfs3::procs
