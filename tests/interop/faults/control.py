"""What the injector is told: which system call fails, with which errno, and when. Used on the server's side."""

import errno
import os
import struct
import subprocess

FIELDS = struct.Struct("=5I")  # struct Control

# The numbers are those of enum Call in injector.c. The errnos are those of the manual pages; of calls that wait for the
# medium also what block devices, FUSE and network file systems hand through them.
MEDIUM = ("EIO", "ENOSPC", "EDQUOT", "EROFS", "EINTR", "EAGAIN", "ENOMEM", "ETIMEDOUT", "ENOBUFS")
PATHS = ("EACCES", "EFAULT", "ELOOP", "ENAMETOOLONG", "ENOENT", "ENOTDIR", "EPERM", "EINVAL", "EBADF")
CALLS = {
    "fsync": (1, (*MEDIUM, "EBADF", "EINVAL")),
    "fdatasync": (2, (*MEDIUM, "EBADF", "EINVAL")),
    "syncfs": (3, (*MEDIUM, "EBADF")),
    "pwritev2": (4, (*MEDIUM, "EBADF", "EDESTADDRREQ", "EFAULT", "EFBIG", "EINVAL", "ENXIO", "EOPNOTSUPP", "EOVERFLOW",
                     "EPERM", "EPIPE", "ESPIPE")),
    "splice": (5, (*MEDIUM, "EBADF", "EFBIG", "EINVAL", "EPERM", "EPIPE", "ESPIPE")),
    "openat": (6, (*MEDIUM, *PATHS, "EBUSY", "EEXIST", "EFBIG", "EISDIR", "EMFILE", "ENFILE", "ENODEV", "ENXIO",
                   "EOPNOTSUPP", "EOVERFLOW", "ETXTBSY")),
    "open_by_handle_at": (7, (*MEDIUM, *PATHS, "EISDIR", "EMFILE", "ENFILE", "ENXIO", "EOVERFLOW", "ESTALE", "ETXTBSY")),
    "renameat": (8, (*MEDIUM, *PATHS, "EBUSY", "EEXIST", "EISDIR", "EMLINK", "ENOTEMPTY", "EXDEV")),
    "unlinkat": (9, (*MEDIUM, *PATHS, "EBUSY", "EISDIR", "ENOTEMPTY")),
    "mkdirat": (10, (*MEDIUM, *PATHS, "EEXIST", "EMLINK")),
    "symlinkat": (11, (*MEDIUM, *PATHS, "EEXIST")),
    "linkat": (12, (*MEDIUM, *PATHS, "EEXIST", "EMLINK", "EXDEV")),
    "ftruncate": (13, (*MEDIUM, "EACCES", "EBADF", "EFBIG", "EINVAL", "EISDIR", "EPERM", "ETXTBSY")),
    "setxattr": (14, (*MEDIUM, *PATHS, "E2BIG", "EEXIST", "ENODATA", "ENOTSUP", "ERANGE")),
    "statx": (15, (*MEDIUM, *PATHS)),
    "pwrite": (16, (*MEDIUM, "EBADF", "EFAULT", "EFBIG", "EINVAL", "ENXIO", "EOVERFLOW", "EPERM", "EPIPE", "ESPIPE")),
    "copy_file_range": (17, (*MEDIUM, "EBADF", "EFBIG", "EINVAL", "EISDIR", "EOPNOTSUPP", "EOVERFLOW", "EPERM", "ETXTBSY",
                             "EXDEV")),
}
SYNCS = ("fsync", "fdatasync", "syncfs", "pwritev2")

EVERY = 0  # in place of the number of a call
HANGS = "HANGS"  # in place of an errno: until clear()


def build(base):
    """Compiles the injector into `base`; returns its path."""
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "injector.c")
    path = os.path.join(base, "injector.so")
    if not os.path.exists(path):
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", path, source, "-ldl"], check=True)
    return path


def environment(base, root):
    """What the server gets: no call on the file system of `root` fails yet."""
    path = os.path.join(base, "faults")
    with open(path, "wb") as file:
        file.write(bytes(FIELDS.size))
    return {"LD_PRELOAD": build(base), "FAULTS_CONTROL": path, "FAULTS_ROOT": root}


class Control:
    def __init__(self, base):
        self.file = open(os.path.join(base, "faults"), "r+b", buffering=0)  # pylint: disable=consider-using-with

    def arm(self, call, error, nth):
        """From now on the nth call fails, or each with EVERY."""
        self.file.seek(0)
        number = 0xFFFFFFFF if error == HANGS else getattr(errno, error)
        self.file.write(FIELDS.pack(CALLS[call][0], number, nth, 0, 0))

    def clear(self):
        """From now on none fails. Returns how many failed since arm()."""
        failed = self.failed()
        self.file.seek(0)
        self.file.write(bytes(FIELDS.size))
        return failed

    def failed(self):
        self.file.seek(0)
        return FIELDS.unpack(self.file.read(FIELDS.size))[4]
