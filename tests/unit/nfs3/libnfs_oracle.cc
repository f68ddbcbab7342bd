#include "tests/unit/nfs3/libnfs_oracle.h"

#include <nfsc/libnfs-raw-mount.h>
#include <nfsc/libnfs-raw-nfs.h>
#include <nfsc/libnfs-zdr.h>

#include <array>

namespace braid::nfs3::test {
namespace {

using Recode = std::optional<base::Bytes> (*)(base::BytesView);

std::optional<base::Bytes> nothing(base::BytesView bytes) {
  if (!bytes.empty()) return std::nullopt;
  return base::Bytes{};
}

template <class T, std::uint32_t (*code)(ZDR*, T*)>
std::optional<base::Bytes> recode(base::BytesView bytes) {
  base::Bytes copy(bytes.begin(), bytes.end());
  T value{};
  ZDR in{};
  libnfs_zdrmem_create(&in, reinterpret_cast<char*>(copy.data()), static_cast<std::uint32_t>(copy.size()),
                       ZDR_DECODE);
  std::optional<base::Bytes> result;
  if (code(&in, &value) != 0 && libnfs_zdr_getpos(&in) == copy.size()) {
    base::Bytes out(copy.size() + 64);
    ZDR to{};
    libnfs_zdrmem_create(&to, reinterpret_cast<char*>(out.data()), static_cast<std::uint32_t>(out.size()),
                         ZDR_ENCODE);
    if (code(&to, &value) != 0) {
      out.resize(libnfs_zdr_getpos(&to));
      result = std::move(out);
    }
    libnfs_zdr_destroy(&to);
  }
  libnfs_zdr_destroy(&in);
  return result;
}

constexpr std::array<Recode, 22> args{
    nothing,
    recode<::GETATTR3args, ::zdr_GETATTR3args>,
    recode<::SETATTR3args, ::zdr_SETATTR3args>,
    recode<::LOOKUP3args, ::zdr_LOOKUP3args>,
    recode<::ACCESS3args, ::zdr_ACCESS3args>,
    recode<::READLINK3args, ::zdr_READLINK3args>,
    recode<::READ3args, ::zdr_READ3args>,
    recode<::WRITE3args, ::zdr_WRITE3args>,
    recode<::CREATE3args, ::zdr_CREATE3args>,
    recode<::MKDIR3args, ::zdr_MKDIR3args>,
    recode<::SYMLINK3args, ::zdr_SYMLINK3args>,
    recode<::MKNOD3args, ::zdr_MKNOD3args>,
    recode<::REMOVE3args, ::zdr_REMOVE3args>,
    recode<::RMDIR3args, ::zdr_RMDIR3args>,
    recode<::RENAME3args, ::zdr_RENAME3args>,
    recode<::LINK3args, ::zdr_LINK3args>,
    recode<::READDIR3args, ::zdr_READDIR3args>,
    recode<::READDIRPLUS3args, ::zdr_READDIRPLUS3args>,
    recode<::FSSTAT3args, ::zdr_FSSTAT3args>,
    recode<::FSINFO3args, ::zdr_FSINFO3args>,
    recode<::PATHCONF3args, ::zdr_PATHCONF3args>,
    recode<::COMMIT3args, ::zdr_COMMIT3args>,
};

constexpr std::array<Recode, 22> results{
    nothing,
    recode<::GETATTR3res, ::zdr_GETATTR3res>,
    recode<::SETATTR3res, ::zdr_SETATTR3res>,
    recode<::LOOKUP3res, ::zdr_LOOKUP3res>,
    recode<::ACCESS3res, ::zdr_ACCESS3res>,
    recode<::READLINK3res, ::zdr_READLINK3res>,
    recode<::READ3res, ::zdr_READ3res>,
    recode<::WRITE3res, ::zdr_WRITE3res>,
    recode<::CREATE3res, ::zdr_CREATE3res>,
    recode<::MKDIR3res, ::zdr_MKDIR3res>,
    recode<::SYMLINK3res, ::zdr_SYMLINK3res>,
    recode<::MKNOD3res, ::zdr_MKNOD3res>,
    recode<::REMOVE3res, ::zdr_REMOVE3res>,
    recode<::RMDIR3res, ::zdr_RMDIR3res>,
    recode<::RENAME3res, ::zdr_RENAME3res>,
    recode<::LINK3res, ::zdr_LINK3res>,
    recode<::READDIR3res, ::zdr_READDIR3res>,
    recode<::READDIRPLUS3res, ::zdr_READDIRPLUS3res>,
    recode<::FSSTAT3res, ::zdr_FSSTAT3res>,
    recode<::FSINFO3res, ::zdr_FSINFO3res>,
    recode<::PATHCONF3res, ::zdr_PATHCONF3res>,
    recode<::COMMIT3res, ::zdr_COMMIT3res>,
};

constexpr std::array<Recode, 6> mount_results{
    nothing, recode<::mountres3, ::zdr_mountres3>, recode<::mountlist, ::zdr_mountlist>, nothing,
    nothing, recode<::exports, ::zdr_exports>,
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
