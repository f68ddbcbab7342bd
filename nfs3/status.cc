#include "nfs3/status.h"

namespace braid::nfs3 {

using enum nfsstat3;

nfsstat3 status_of(vfs::Error error) {
  switch (error) {
    case vfs::Error::perm:
      return NFS3ERR_PERM;
    case vfs::Error::noent:
      return NFS3ERR_NOENT;
    case vfs::Error::io:
      return NFS3ERR_IO;
    case vfs::Error::nxio:
      return NFS3ERR_NXIO;
    case vfs::Error::acces:
      return NFS3ERR_ACCES;
    case vfs::Error::exist:
      return NFS3ERR_EXIST;
    case vfs::Error::xdev:
      return NFS3ERR_XDEV;
    case vfs::Error::nodev:
      return NFS3ERR_NODEV;
    case vfs::Error::notdir:
      return NFS3ERR_NOTDIR;
    case vfs::Error::isdir:
      return NFS3ERR_ISDIR;
    case vfs::Error::inval:
      return NFS3ERR_INVAL;
    case vfs::Error::fbig:
      return NFS3ERR_FBIG;
    case vfs::Error::nospc:
      return NFS3ERR_NOSPC;
    case vfs::Error::rofs:
      return NFS3ERR_ROFS;
    case vfs::Error::mlink:
      return NFS3ERR_MLINK;
    case vfs::Error::nametoolong:
      return NFS3ERR_NAMETOOLONG;
    case vfs::Error::notempty:
      return NFS3ERR_NOTEMPTY;
    case vfs::Error::dquot:
      return NFS3ERR_DQUOT;
    case vfs::Error::stale:
      return NFS3ERR_STALE;
    case vfs::Error::badhandle:
      return NFS3ERR_BADHANDLE;
    case vfs::Error::not_sync:
      return NFS3ERR_NOT_SYNC;
    case vfs::Error::bad_cookie:
      return NFS3ERR_BAD_COOKIE;
    case vfs::Error::notsupp:
      return NFS3ERR_NOTSUPP;
    case vfs::Error::too_small:
      return NFS3ERR_TOOSMALL;
    case vfs::Error::delay:
    case vfs::Error::too_many_open_files:
      return NFS3ERR_JUKEBOX;
    case vfs::Error::no_xattr:  // NFSv3 has no extended attributes
    case vfs::Error::xattr2big:
    case vfs::Error::server_fault:
      return NFS3ERR_SERVERFAULT;
  }
  return NFS3ERR_SERVERFAULT;
}

}  // namespace braid::nfs3
