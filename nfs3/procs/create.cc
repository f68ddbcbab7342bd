#include "nfs3/attributes.h"
#include "nfs3/names.h"
#include "nfs3/procs/made.h"
#include "nfs3/procs/procs.h"

namespace braid::nfs3::procs {
namespace {

base::Result<vfs::CreateHow, vfs::Error> create_how_of(const createhow3& how) {
  using Mode = vfs::CreateHow::Mode;
  if (const createverf3* verf = how.verf()) return vfs::CreateHow{Mode::exclusive, {}, {*verf}};
  auto attributes = set_attributes_of(*how.obj_attributes());
  if (!attributes) return base::fail(attributes.error());
  const Mode mode = how.mode == createmode3::GUARDED ? Mode::guarded : Mode::unchecked;
  return vfs::CreateHow{mode, *attributes, {}};
}

}  // namespace

Op3<CREATE3resok, CREATE3resfail> create(Request& request, const CREATE3args& args) {
  const Target dir = co_await request.target(args.where.dir);
  const auto name = check_name(args.where.name, NameUse::create);
  if (!name) co_return refuse<CREATE3resfail>(name.error());
  const auto how = create_how_of(args.how);
  if (!how) co_return refuse<CREATE3resfail>(how.error());
  vfs::Wcc wcc;
  const auto found = co_await dir.fs().create(dir.who, dir.file, args.where.name, *how, wcc).as_result();
  if (!found) co_return refuse(found.error(), CREATE3resfail{wcc_data_of(wcc)});
  co_return made<CREATE3resok>(request, *found, wcc);
}

}  // namespace braid::nfs3::procs
