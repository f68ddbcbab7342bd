"""NFSv4.2, 4.1 and 4.0: open files and their locks outlive kill -9 and a new start of the server."""

import errno
import fcntl
import os

from harness.client import SHORT_LEASE_V40_S, Lab, drop_caches, equal, read_file, refused, step, write_file

RUNS = ("ext4",)
VERSIONS = ("4.2", "4.1", "4.0")
TAKES_S = 30
TIMEOUT_S = 240

lab = Lab()
lab.export()
lab.serve(lease_s=SHORT_LEASE_V40_S)

for version, another in (("4.2", "4.1"), ("4.1", "4.2"), ("4.0", "4.2")):
    step(f"NFSv{version}")
    mnt = lab.mount(version=version)
    write_file(f"{mnt}/file", b"0123456789")
    with open(f"{mnt}/file", "r+b", buffering=0) as file:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        lab.kill()
        lab.start()
        file.seek(3)
        file.write(b"abc")
        os.fsync(file.fileno())
        step("it is written after the restart")

        # Another client of the same machine: it gets no lock before this one has reclaimed its own, nor after.
        other = lab.mount(version=another, at="/run/other")
        with open(f"{other}/file", "r+b", buffering=0) as second, refused(errno.EAGAIN, errno.EACCES):
            fcntl.lockf(second, fcntl.LOCK_EX | fcntl.LOCK_NB)
        step("the lock is still held")
    with open(f"{other}/file", "r+b", buffering=0) as second:
        fcntl.lockf(second, fcntl.LOCK_EX | fcntl.LOCK_NB)
    lab.unmount("/run/other")
    drop_caches()
    equal(read_file(f"{mnt}/file"), b"012abc6789", "the file")
    os.unlink(f"{mnt}/file")
    lab.unmount()
