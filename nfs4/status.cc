#include "nfs4/status.h"

namespace braid::nfs4 {

using enum nfsstat4;

nfsstat4 status_of(vfs::Error error) {
  switch (error) {
    case vfs::Error::perm:
      return NFS4ERR_PERM;
    case vfs::Error::noent:
      return NFS4ERR_NOENT;
    case vfs::Error::io:
      return NFS4ERR_IO;
    case vfs::Error::nxio:
    case vfs::Error::nodev:
      return NFS4ERR_NXIO;
    case vfs::Error::acces:
      return NFS4ERR_ACCESS;
    case vfs::Error::exist:
      return NFS4ERR_EXIST;
    case vfs::Error::xdev:
      return NFS4ERR_XDEV;
    case vfs::Error::notdir:
      return NFS4ERR_NOTDIR;
    case vfs::Error::isdir:
      return NFS4ERR_ISDIR;
    case vfs::Error::inval:
      return NFS4ERR_INVAL;
    case vfs::Error::fbig:
      return NFS4ERR_FBIG;
    case vfs::Error::nospc:
      return NFS4ERR_NOSPC;
    case vfs::Error::rofs:
      return NFS4ERR_ROFS;
    case vfs::Error::mlink:
      return NFS4ERR_MLINK;
    case vfs::Error::nametoolong:
      return NFS4ERR_NAMETOOLONG;
    case vfs::Error::notempty:
      return NFS4ERR_NOTEMPTY;
    case vfs::Error::dquot:
      return NFS4ERR_DQUOT;
    case vfs::Error::stale:
      return NFS4ERR_STALE;
    case vfs::Error::badhandle:
      return NFS4ERR_BADHANDLE;
    case vfs::Error::bad_cookie:
      return NFS4ERR_BAD_COOKIE;
    case vfs::Error::notsupp:
      return NFS4ERR_NOTSUPP;
    case vfs::Error::too_small:
      return NFS4ERR_TOOSMALL;
    case vfs::Error::delay:
    case vfs::Error::too_many_open_files:
      return NFS4ERR_DELAY;
    case vfs::Error::no_xattr:
      return NFS4ERR_NOXATTR;
    case vfs::Error::xattr2big:
      return NFS4ERR_XATTR2BIG;
    case vfs::Error::not_sync:  // a guard that only NFSv3 sends
    case vfs::Error::server_fault:
      return NFS4ERR_SERVERFAULT;
  }
  return NFS4ERR_SERVERFAULT;
}

nfsstat4 status_of(xdr::Error error) {
  switch (error) {
    case xdr::Error::none:
      return nfsstat4::NFS4_OK;
    case xdr::Error::truncated:
    case xdr::Error::limit:
    case xdr::Error::value:
      return nfsstat4::NFS4ERR_BADXDR;
    case xdr::Error::memory:
      return nfsstat4::NFS4ERR_DELAY;
  }
  return nfsstat4::NFS4ERR_BADXDR;
}

nfsstat4 for_minor(nfsstat4 status, std::uint32_t minor_version) {
  if (minor_version == 0 && status == nfsstat4::NFS4ERR_WRONG_TYPE) return nfsstat4::NFS4ERR_INVAL;
  return status;
}

}  // namespace braid::nfs4
