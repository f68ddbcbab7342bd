#include "nfs3/mount/status.h"

namespace braid::nfs3::mount {

mountstat3 status_of(vfs::Error error) {
  using enum mountstat3;
  switch (error) {
    case vfs::Error::perm:
      return MNT3ERR_PERM;
    case vfs::Error::noent:
    case vfs::Error::stale:
      return MNT3ERR_NOENT;  // removed while the path was walked
    case vfs::Error::io:
      return MNT3ERR_IO;
    case vfs::Error::acces:
      return MNT3ERR_ACCES;
    case vfs::Error::notdir:
      return MNT3ERR_NOTDIR;
    case vfs::Error::inval:
      return MNT3ERR_INVAL;
    case vfs::Error::nametoolong:
      return MNT3ERR_NAMETOOLONG;
    case vfs::Error::notsupp:
      return MNT3ERR_NOTSUPP;
    case vfs::Error::nxio:
    case vfs::Error::exist:
    case vfs::Error::xdev:
    case vfs::Error::nodev:
    case vfs::Error::isdir:
    case vfs::Error::fbig:
    case vfs::Error::nospc:
    case vfs::Error::rofs:
    case vfs::Error::mlink:
    case vfs::Error::notempty:
    case vfs::Error::dquot:
    case vfs::Error::badhandle:
    case vfs::Error::not_sync:
    case vfs::Error::bad_cookie:
    case vfs::Error::too_small:
    case vfs::Error::delay:
    case vfs::Error::too_many_open_files:
    case vfs::Error::no_xattr:
    case vfs::Error::xattr2big:
    case vfs::Error::server_fault:
      return MNT3ERR_SERVERFAULT;
  }
  return MNT3ERR_SERVERFAULT;
}

}  // namespace braid::nfs3::mount
