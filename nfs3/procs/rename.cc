#include "nfs3/attributes.h"
#include "nfs3/names.h"
#include "nfs3/procs/procs.h"

namespace braid::nfs3::procs {

Op3<RENAME3resok, RENAME3resfail> rename(Request& request, const RENAME3args& args) {
  const Target from = co_await request.target(args.from.dir);
  const Target to = co_await request.target(args.to.dir);
  for (const filename3 name : {args.from.name, args.to.name}) {
    if (const auto checked = check_name(name, NameUse::rename); !checked)
      co_return refuse<RENAME3resfail>(checked.error());
  }
  if (from.from != to.from) co_return refuse<RENAME3resfail>(nfsstat3::NFS3ERR_XDEV);
  vfs::Wcc from_wcc;
  vfs::Wcc to_wcc;
  const auto done = co_await from.fs()
                        .rename(from.who, from.file, args.from.name, to.file, args.to.name, from_wcc, to_wcc)
                        .as_result();
  if (!done) co_return refuse(done.error(), RENAME3resfail{wcc_data_of(from_wcc), wcc_data_of(to_wcc)});
  co_return RENAME3resok{wcc_data_of(from_wcc), wcc_data_of(to_wcc)};
}

}  // namespace braid::nfs3::procs
