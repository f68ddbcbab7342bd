#include "nfs3/attributes.h"
#include "nfs3/names.h"
#include "nfs3/procs/made.h"
#include "nfs3/procs/procs.h"

namespace braid::nfs3::procs {

Op3<SYMLINK3resok, SYMLINK3resfail> symlink(Request& request, const SYMLINK3args& args) {
  const Target dir = co_await request.target(args.where.dir);
  const auto name = check_name(args.where.name, NameUse::create);
  if (!name) co_return refuse<SYMLINK3resfail>(name.error());
  const std::string_view text = args.symlink.symlink_data;
  const auto target = check_link_target(text);
  if (!target) co_return refuse<SYMLINK3resfail>(target.error());
  const auto set = set_attributes_of(args.symlink.symlink_attributes);
  if (!set) co_return refuse<SYMLINK3resfail>(set.error());
  vfs::Wcc wcc;
  const auto found =
      co_await dir.fs().symlink(dir.who, dir.file, args.where.name, text, *set, wcc).as_result();
  if (!found) co_return refuse(found.error(), SYMLINK3resfail{wcc_data_of(wcc)});
  co_return made<SYMLINK3resok>(request, *found, wcc);
}

}  // namespace braid::nfs3::procs
