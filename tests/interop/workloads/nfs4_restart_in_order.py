"""NFSv4.0: a server that ends in order knows what its clients hold, and the next one does not wait out the grace period for a
client that has all of it again."""

import errno
import fcntl
import os

from harness.client import Lab, equal, expect, read_file, refused, step, until, write_file

RUNS = ("ext4",)
VERSIONS = ("4.0",)
TAKES_S = 25
TIMEOUT_S = 180

lab = Lab()
lab.export()
# A client with a delegation may have opened files of which the server does not know.
lab.serve(config=lab.config(server='delegations = "none"', limits="lease_seconds = 60"))
mnt = lab.mount(version="4.0")
for name in ("locked", "read", "both"):
    write_file(f"{mnt}/{name}", b"0123456789")

step("opens in several ways and two locks")
with open(f"{mnt}/locked", "r+b", buffering=0) as locked, open(f"{mnt}/read", "rb") as _, \
        open(f"{mnt}/both", "rb") as _, open(f"{mnt}/both", "r+b", buffering=0) as both:
    fcntl.lockf(locked, fcntl.LOCK_EX | fcntl.LOCK_NB, 4, 0)
    fcntl.lockf(locked, fcntl.LOCK_SH | fcntl.LOCK_NB, 4, 6)
    lab.stop()
    lab.start()
    both.write(b"abc")
    os.fsync(both.fileno())
    step("until the grace period is over")
    until(lambda: " grace_ended " in lab.log(), "the end of the grace period")
    expect("it holds what it held" in lab.log(), "the grace period has lasted its full time")
    expect("clients_missing=0" in lab.log(), "somebody was missing")

    other = lab.mount(version="4.2", at="/run/other")
    with open(f"{other}/locked", "r+b", buffering=0) as second, refused(errno.EAGAIN, errno.EACCES):
        fcntl.lockf(second, fcntl.LOCK_EX | fcntl.LOCK_NB)
lab.unmount("/run/other")
equal(read_file(f"{mnt}/both"), b"abc3456789", "the file")
lab.unmount()
