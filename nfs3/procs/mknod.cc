#include <optional>

#include "nfs3/attributes.h"
#include "nfs3/names.h"
#include "nfs3/procs/made.h"
#include "nfs3/procs/procs.h"

namespace braid::nfs3::procs {
namespace {

// RFC 1813 3.3.11: regular files, directories and links are made by procedures of their own.
std::optional<vfs::FileType> special_type_of(ftype3 type) {
  switch (type) {
    case ftype3::NF3BLK:
      return vfs::FileType::block_device;
    case ftype3::NF3CHR:
      return vfs::FileType::character_device;
    case ftype3::NF3SOCK:
      return vfs::FileType::socket;
    case ftype3::NF3FIFO:
      return vfs::FileType::fifo;
    case ftype3::NF3REG:
    case ftype3::NF3DIR:
    case ftype3::NF3LNK:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

Op3<MKNOD3resok, MKNOD3resfail> mknod(Request& request, const MKNOD3args& args) {
  const Target dir = co_await request.target(args.where.dir);
  const auto name = check_name(args.where.name, NameUse::create);
  if (!name) co_return refuse<MKNOD3resfail>(name.error());
  const auto type = special_type_of(args.what.type);
  if (!type) co_return refuse<MKNOD3resfail>(nfsstat3::NFS3ERR_BADTYPE);
  vfs::SpecialFile special{*type, {}};
  const devicedata3* device = args.what.device();
  if (device != nullptr) special.device = {device->spec.specdata1, device->spec.specdata2};
  const auto set =
      set_attributes_of(device != nullptr ? device->dev_attributes : *args.what.pipe_attributes());
  if (!set) co_return refuse<MKNOD3resfail>(set.error());
  vfs::Wcc wcc;
  const auto found =
      co_await dir.fs().mknod(dir.who, dir.file, args.where.name, special, *set, wcc).as_result();
  if (!found) co_return refuse(found.error(), MKNOD3resfail{wcc_data_of(wcc)});
  co_return made<MKNOD3resok>(request, *found, wcc);
}

}  // namespace braid::nfs3::procs
