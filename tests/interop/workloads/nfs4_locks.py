"""NFSv4: fcntl locks exclude each other between clients of different minor versions and local processes of the server."""

import errno
import fcntl
import os

from harness.client import Lab, equal, refused, step, write_file

VARIANTS = ("tmpfs", "ext4")

lab = Lab()
lab.export()
lab.serve()
new = lab.mount(version="4.2")
old = lab.mount(version="4.0", at="/run/other")
write_file(f"{new}/file", b"0123456789")

LOCAL_TRY = ("import fcntl, sys; file = open(sys.argv[1], 'r+b')\n"
             "try:\n    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 5, 0)\n"
             "except OSError:\n    print('refused')\nelse:\n    print('granted')\n")


def local_try():
    """Whether a process on the server gets the first five bytes."""
    return lab.host(f'/usr/bin/python3 -c "{LOCAL_TRY}" {lab.path}/file').strip()


with open(f"{new}/file", "r+b") as first, open(f"{old}/file", "r+b") as second:
    step("an exclusive lock keeps the other client and local processes out")
    fcntl.lockf(first, fcntl.LOCK_EX | fcntl.LOCK_NB, 5, 0)
    with refused(errno.EAGAIN, errno.EACCES):
        fcntl.lockf(second, fcntl.LOCK_SH | fcntl.LOCK_NB, 5, 0)
    equal(local_try(), "refused", "a local lock of a locked range")

    step("the rest of the file is free")
    fcntl.lockf(second, fcntl.LOCK_EX | fcntl.LOCK_NB, 5, 5)
    with refused(errno.EAGAIN, errno.EACCES):
        fcntl.lockf(first, fcntl.LOCK_EX | fcntl.LOCK_NB, 10, 0)

    step("an unlocked range is free again")
    fcntl.lockf(first, fcntl.LOCK_UN, 5, 0)
    equal(local_try(), "granted", "a local lock of an unlocked range")
    fcntl.lockf(second, fcntl.LOCK_EX | fcntl.LOCK_NB, 5, 0)

step("closing a file releases its locks")
with open(f"{new}/file", "r+b") as third:
    fcntl.lockf(third, fcntl.LOCK_EX | fcntl.LOCK_NB)
os.unlink(f"{new}/file")
lab.unmount("/run/other")
lab.unmount()
