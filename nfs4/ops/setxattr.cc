#include "nfs4/ops/delegated_attributes.h"
#include "nfs4/ops/extended_operations.h"
#include "nfs4/ops/file_operations.h"

namespace braid::nfs4::ops {
namespace {

vfs::XattrMode mode_of(setxattr_option4 option) {
  switch (option) {
    case setxattr_option4::SETXATTR4_CREATE:
      return vfs::XattrMode::create;
    case setxattr_option4::SETXATTR4_REPLACE:
      return vfs::XattrMode::replace;
    case setxattr_option4::SETXATTR4_EITHER:
      break;
  }
  return vfs::XattrMode::either;
}

}  // namespace

Op4<change_info4> setxattr(Compound& compound, const SETXATTR4args& args) {
  const Place& at = *co_await compound.current_in_export();
  co_await break_delegations(compound, at);
  vfs::Wcc wcc;
  const auto done =
      co_await at.fs()
          .set_xattr(at.who, at.file, args.sxa_key, args.sxa_value, mode_of(args.sxa_option), wcc)
          .as_result();
  if (!done) co_await refuse(done.error());
  co_return change_info_of(wcc);
}

}  // namespace braid::nfs4::ops
