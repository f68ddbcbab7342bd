#include "vfs/types.h"

#include <array>
#include <cerrno>
#include <iterator>

namespace braid::vfs {
namespace {

struct Row {
  int number;
  Error error;
};

// Numbers that mean "not now" are delay: the client tries again. EBUSY and ETXTBSY are not among them, since
// they last as long as a mount or a running program does.
constexpr auto rows = std::to_array<Row>({
    {EPERM, Error::perm},
    {ENOENT, Error::noent},
    {EIO, Error::io},
    {ENXIO, Error::nxio},
    {EACCES, Error::acces},
    {EEXIST, Error::exist},
    {EXDEV, Error::xdev},
    {ENODEV, Error::nodev},
    {ENOTDIR, Error::notdir},
    {EISDIR, Error::isdir},
    {EINVAL, Error::inval},
    {EFBIG, Error::fbig},
    {ENOSPC, Error::nospc},
    {EROFS, Error::rofs},
    {EMLINK, Error::mlink},
    {ENAMETOOLONG, Error::nametoolong},
    {ENOTEMPTY, Error::notempty},
    {EDQUOT, Error::dquot},
    {ESTALE, Error::stale},
    {ENOSYS, Error::notsupp},
    {EOPNOTSUPP, Error::notsupp},
    {ENOTTY, Error::notsupp},
    // Resources that come back.
    {EAGAIN, Error::delay},
    {EINTR, Error::delay},
    {ENOMEM, Error::delay},
    {ENOBUFS, Error::delay},
    {EMFILE, Error::delay},
    {ENFILE, Error::delay},
    {ENOLCK, Error::delay},
    {ETIMEDOUT, Error::delay},
    {EDEADLK, Error::delay},
    // The medium, or the transport that leads to it.
    {EUCLEAN, Error::io},
    {EBADMSG, Error::io},
    {EREMOTEIO, Error::io},
    {EILSEQ, Error::inval},  // a name that a case-folding directory cannot take
    {ENODATA, Error::io},
    {ENOLINK, Error::io},
    {ENOTCONN, Error::io},
    {ECONNABORTED, Error::io},
    {ECONNRESET, Error::io},
    {EHOSTDOWN, Error::io},
    {EHOSTUNREACH, Error::io},
    {ESHUTDOWN, Error::io},
    {ENOMEDIUM, Error::io},
    // Refusals.
    {EBUSY, Error::acces},    // a mount point
    {ETXTBSY, Error::acces},  // a running program
    {ENOKEY, Error::perm},    // encrypted, and the key is not loaded
    {EKEYREJECTED, Error::perm},
    {EKEYEXPIRED, Error::perm},
    {EKEYREVOKED, Error::perm},
    {ELOOP, Error::inval},  // a symbolic link where a file is wanted
    {EOVERFLOW, Error::fbig},
    {E2BIG, Error::fbig},
    {ESPIPE, Error::inval},
});

}  // namespace

Error error_of(int errno_number) {
  for (const Row& row : rows)
    if (row.number == errno_number) return row.error;
  return Error::server_fault;
}

std::string_view name_of(Error error) {
  // In the order of Error.
  static constexpr std::string_view names[] = {"perm",        "noent",
                                               "io",          "nxio",
                                               "acces",       "exist",
                                               "xdev",        "nodev",
                                               "notdir",      "isdir",
                                               "inval",       "fbig",
                                               "nospc",       "rofs",
                                               "mlink",       "nametoolong",
                                               "notempty",    "dquot",
                                               "stale",       "badhandle",
                                               "not_sync",    "bad_cookie",
                                               "notsupp",     "too_small",
                                               "delay",       "too_many_open_files",
                                               "no_xattr",    "xattr2big",
                                               "server_fault"};
  static_assert(std::size(names) == static_cast<std::size_t>(Error::server_fault) + 1);
  return names[static_cast<std::size_t>(error)];
}

}  // namespace braid::vfs
