#include "tests/unit/nfs3/libnfs_oracle.h"

#include <nfsc/libnfs-raw-mount.h>
#include <nfsc/libnfs-raw-nfs.h>

#include <array>

#include "tests/unit/xdr/recode_by_libnfs.h"

namespace braid::nfs3::test {
namespace {

using Recode = std::optional<base::Bytes> (*)(base::BytesView);

std::optional<base::Bytes> nothing(base::BytesView bytes) {
  if (!bytes.empty()) return std::nullopt;
  return base::Bytes{};
}

using xdr::test::recode_by_libnfs;

constexpr std::array<Recode, 22> args{
    nothing,
    recode_by_libnfs<::GETATTR3args, ::zdr_GETATTR3args>,
    recode_by_libnfs<::SETATTR3args, ::zdr_SETATTR3args>,
    recode_by_libnfs<::LOOKUP3args, ::zdr_LOOKUP3args>,
    recode_by_libnfs<::ACCESS3args, ::zdr_ACCESS3args>,
    recode_by_libnfs<::READLINK3args, ::zdr_READLINK3args>,
    recode_by_libnfs<::READ3args, ::zdr_READ3args>,
    recode_by_libnfs<::WRITE3args, ::zdr_WRITE3args>,
    recode_by_libnfs<::CREATE3args, ::zdr_CREATE3args>,
    recode_by_libnfs<::MKDIR3args, ::zdr_MKDIR3args>,
    recode_by_libnfs<::SYMLINK3args, ::zdr_SYMLINK3args>,
    recode_by_libnfs<::MKNOD3args, ::zdr_MKNOD3args>,
    recode_by_libnfs<::REMOVE3args, ::zdr_REMOVE3args>,
    recode_by_libnfs<::RMDIR3args, ::zdr_RMDIR3args>,
    recode_by_libnfs<::RENAME3args, ::zdr_RENAME3args>,
    recode_by_libnfs<::LINK3args, ::zdr_LINK3args>,
    recode_by_libnfs<::READDIR3args, ::zdr_READDIR3args>,
    recode_by_libnfs<::READDIRPLUS3args, ::zdr_READDIRPLUS3args>,
    recode_by_libnfs<::FSSTAT3args, ::zdr_FSSTAT3args>,
    recode_by_libnfs<::FSINFO3args, ::zdr_FSINFO3args>,
    recode_by_libnfs<::PATHCONF3args, ::zdr_PATHCONF3args>,
    recode_by_libnfs<::COMMIT3args, ::zdr_COMMIT3args>,
};

constexpr std::array<Recode, 22> results{
    nothing,
    recode_by_libnfs<::GETATTR3res, ::zdr_GETATTR3res>,
    recode_by_libnfs<::SETATTR3res, ::zdr_SETATTR3res>,
    recode_by_libnfs<::LOOKUP3res, ::zdr_LOOKUP3res>,
    recode_by_libnfs<::ACCESS3res, ::zdr_ACCESS3res>,
    recode_by_libnfs<::READLINK3res, ::zdr_READLINK3res>,
    recode_by_libnfs<::READ3res, ::zdr_READ3res>,
    recode_by_libnfs<::WRITE3res, ::zdr_WRITE3res>,
    recode_by_libnfs<::CREATE3res, ::zdr_CREATE3res>,
    recode_by_libnfs<::MKDIR3res, ::zdr_MKDIR3res>,
    recode_by_libnfs<::SYMLINK3res, ::zdr_SYMLINK3res>,
    recode_by_libnfs<::MKNOD3res, ::zdr_MKNOD3res>,
    recode_by_libnfs<::REMOVE3res, ::zdr_REMOVE3res>,
    recode_by_libnfs<::RMDIR3res, ::zdr_RMDIR3res>,
    recode_by_libnfs<::RENAME3res, ::zdr_RENAME3res>,
    recode_by_libnfs<::LINK3res, ::zdr_LINK3res>,
    recode_by_libnfs<::READDIR3res, ::zdr_READDIR3res>,
    recode_by_libnfs<::READDIRPLUS3res, ::zdr_READDIRPLUS3res>,
    recode_by_libnfs<::FSSTAT3res, ::zdr_FSSTAT3res>,
    recode_by_libnfs<::FSINFO3res, ::zdr_FSINFO3res>,
    recode_by_libnfs<::PATHCONF3res, ::zdr_PATHCONF3res>,
    recode_by_libnfs<::COMMIT3res, ::zdr_COMMIT3res>,
};

constexpr std::array<Recode, 6> mount_results{
    nothing,
    recode_by_libnfs<::mountres3, ::zdr_mountres3>,
    recode_by_libnfs<::mountlist, ::zdr_mountlist>,
    nothing,
    nothing,
    recode_by_libnfs<::exports, ::zdr_exports>,
};

}  // namespace

std::optional<base::Bytes> nfs3_args_recoded_by_libnfs(std::uint32_t procedure, base::BytesView bytes) {
  return args[procedure](bytes);
}
std::optional<base::Bytes> nfs3_results_recoded_by_libnfs(std::uint32_t procedure, base::BytesView bytes) {
  return results[procedure](bytes);
}
std::optional<base::Bytes> mount_results_recoded_by_libnfs(std::uint32_t procedure, base::BytesView bytes) {
  return mount_results[procedure](bytes);
}

}  // namespace braid::nfs3::test
