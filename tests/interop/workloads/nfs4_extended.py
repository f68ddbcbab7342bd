"""NFSv4.2: fallocate, holes, SEEK_HOLE, copy_file_range, clones where the file system has them, extended attributes."""

import ctypes
import errno
import fcntl
import os

from harness.client import Lab, drop_caches, equal, expect, metric, read_file, refused, sha256, step

RUNS = ("tmpfs", "ext4", "xfs", "btrfs")
VERSIONS = ("4.2",)
FICLONE = 0x40049409
FALLOC_FL_KEEP_SIZE, FALLOC_FL_PUNCH_HOLE = 1, 2
MIB = 1 << 20

lab = Lab()
lab.export(size_mib=256)
lab.serve(config=lab.config())
mnt = lab.mount(version="4.2")
libc = ctypes.CDLL(None, use_errno=True)


def fallocate(file, mode, offset, length):
    if libc.fallocate(file.fileno(), mode, ctypes.c_long(offset), ctypes.c_long(length)) != 0:
        raise OSError(ctypes.get_errno(), "fallocate")


step("fallocate and holes")
data = os.urandom(4 * MIB)
with open(f"{mnt}/file", "wb+", buffering=0) as file:
    file.write(data)
    fallocate(file, 0, 4 * MIB, MIB)
    os.fsync(file.fileno())
    equal(os.fstat(file.fileno()).st_size, 5 * MIB, "size after fallocate")
    fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, MIB, MIB)
    equal(os.lseek(file.fileno(), 0, os.SEEK_HOLE), MIB, "where the hole begins")
    equal(os.lseek(file.fileno(), MIB, os.SEEK_DATA), 2 * MIB, "where it ends")
wanted = data[:MIB] + bytes(MIB) + data[2 * MIB:] + bytes(MIB)
drop_caches()
expect(read_file(f"{mnt}/file") == wanted, "what is read differs")
equal(lab.host(f"/usr/bin/python3 -c 'import os, sys; print(os.lseek(os.open(sys.argv[1], 0), 0, os.SEEK_HOLE))' "
               f"{lab.path}/file").strip(), str(MIB), "where the hole begins on the server")

step("copy_file_range")
with open(f"{mnt}/file", "rb") as source, open(f"{mnt}/copy", "wb") as target:
    copied = 0
    while copied < 5 * MIB:
        copied += os.copy_file_range(source.fileno(), target.fileno(), 5 * MIB - copied)
drop_caches()
expect(read_file(f"{mnt}/copy") == wanted, "the copy differs")

step("a large copy goes on in the background, and the client is told of its end")
with open(f"{mnt}/large", "wb") as file:
    for _ in range(64):
        file.write(os.urandom(MIB))
equal(metric("braid_nfs4_background_copies_total"), 0, "copies in the background before")
with open(f"{mnt}/large", "rb") as source, open(f"{mnt}/copy of large", "wb") as target:
    equal(os.copy_file_range(source.fileno(), target.fileno(), 64 * MIB), 64 * MIB, "what was copied at once")
equal(metric("braid_nfs4_background_copies_total"), 1, "copies in the background")
drop_caches()
equal(sha256(f"{mnt}/copy of large"), sha256(f"{mnt}/large"), "the copy")
for name in ("large", "copy of large"):
    os.unlink(f"{mnt}/{name}")

step("clone")
with open(f"{mnt}/file", "rb") as source, open(f"{mnt}/clone", "wb") as target:
    if lab.variant in ("xfs", "btrfs"):
        fcntl.ioctl(target.fileno(), FICLONE, source.fileno())
    else:
        with refused(errno.EOPNOTSUPP, errno.EINVAL, errno.ENOTTY):
            fcntl.ioctl(target.fileno(), FICLONE, source.fileno())
if lab.variant in ("xfs", "btrfs"):
    drop_caches()
    expect(read_file(f"{mnt}/clone") == wanted, "the clone differs")

if lab.variant != "tmpfs":  # user.* attributes came to tmpfs with Linux 6.6
    step("extended attributes")
    os.setxattr(f"{mnt}/file", "user.colour", b"blue")
    equal(os.getxattr(f"{mnt}/file", "user.colour"), b"blue", "the attribute")
    equal([name for name in os.listxattr(f"{mnt}/file") if name.startswith("user.")], ["user.colour"], "names")
    with refused(errno.EEXIST):
        os.setxattr(f"{mnt}/file", "user.colour", b"red", os.XATTR_CREATE)
    os.removexattr(f"{mnt}/file", "user.colour")
    with refused(errno.ENODATA):
        os.getxattr(f"{mnt}/file", "user.colour")
for name in ("file", "copy", "clone"):
    os.unlink(f"{mnt}/{name}")
lab.unmount()
