#include <optional>

#include "nfs4/attributes/creation.h"
#include "nfs4/attributes/reply.h"
#include "nfs4/names.h"
#include "nfs4/ops/file_operations.h"

namespace braid::nfs4::ops {
namespace {

vfs::SpecialFile special_of(const createtype4& type) {
  using vfs::FileType;
  switch (type.type) {
    case nfs_ftype4::NF4BLK:
    case nfs_ftype4::NF4CHR: {
      const specdata4& numbers = *type.devdata();
      return {type.type == nfs_ftype4::NF4BLK ? FileType::block_device : FileType::character_device,
              {numbers.specdata1, numbers.specdata2}};
    }
    case nfs_ftype4::NF4SOCK:
      return {FileType::socket, {}};
    default:
      return {FileType::fifo, {}};
  }
}

// Regular files are OPEN's; named attributes are not supported (RFC 8881 18.4.3).
Result4<void> check_type(const createtype4& type) {
  switch (type.type) {
    case nfs_ftype4::NF4LNK:
      return check_link_target(*type.linkdata());
    case nfs_ftype4::NF4DIR:
    case nfs_ftype4::NF4BLK:
    case nfs_ftype4::NF4CHR:
    case nfs_ftype4::NF4SOCK:
    case nfs_ftype4::NF4FIFO:
      return {};
    default:
      return refuse(nfsstat4::NFS4ERR_BADTYPE);
  }
}

vfs::VfsOp<vfs::Found> make(const Place& dir, const CREATE4args& args, const vfs::SetAttributes& set,
                            vfs::SpecialFile& special, vfs::Wcc& wcc) {
  switch (args.objtype.type) {
    case nfs_ftype4::NF4DIR:
      return dir.fs().mkdir(dir.who, dir.file, args.objname, set, wcc);
    case nfs_ftype4::NF4LNK:
      return dir.fs().symlink(dir.who, dir.file, args.objname, *args.objtype.linkdata(), set, wcc);
    default:
      return dir.fs().mknod(dir.who, dir.file, args.objname, special, set, wcc);
  }
}

}  // namespace

Op4<CREATE4resok> create(Compound& compound, const CREATE4args& args) {
  co_await check_type(args.objtype);
  co_await check_name(args.objname);
  const Place dir = *co_await compound.current_in_export();
  co_await compound.check_no_junction(dir, args.objname, nfsstat4::NFS4ERR_EXIST, nfsstat4::NFS4ERR_ACCESS);
  co_await break_directory_delegations(compound, dir, args.objname, EntryChange::comes);
  const bool directory = args.objtype.type == nfs_ftype4::NF4DIR;
  const auto creation = co_await attributes::begin_creation(compound, dir, args.createattrs, directory,
                                                            attributes::CreationMode::ordinary);
  vfs::SpecialFile special = special_of(args.objtype);
  vfs::Wcc wcc;
  auto found = co_await make(dir, args, creation.set, special, wcc).as_result();
  if (!found) co_await refuse_in_directory(compound, dir, found.error());
  const std::optional<vfs::Attributes> seen = found->attributes;
  const Place made{dir.from, dir.who, std::move(found->file), nullptr};
  co_await attributes::finish_creation(compound, made, creation);
  compound.set_current(made, creation.acl ? std::nullopt : seen);
  co_return CREATE4resok{change_info_of(wcc), attributes::wire_of(creation.attrset, compound.arena())};
}

}  // namespace braid::nfs4::ops
