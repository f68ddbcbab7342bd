"""SIGTERM and a new start, several times, while clients read, write and rename: no error, no damage."""

import hashlib
import os
import random
import time

from harness.client import Failure, Lab, drop_caches, equal, expect, join, read_file, start, step, write_file

RUNS = ("ext4", "ext4,4.0", "tmpfs,4.2")
TAKES_S = 30
TIMEOUT_S = 240

STOP = "/run/tmp/stop"


def running():
    return not os.path.exists(STOP)


def count(name, number):
    """How far the worker has come, for the parent to see."""
    write_file(f"/run/tmp/{name}.new", str(number).encode())
    os.rename(f"/run/tmp/{name}.new", f"/run/tmp/{name}")


def progress(name):
    return int(read_file(f"/run/tmp/{name}")) if os.path.exists(f"/run/tmp/{name}") else 0


def write_files():
    """Unstable writes that a restart may lose on the server and the client must send again (a new verifier)."""
    number = 0
    while running():
        write_file(f"{mnt}/write/{number}", random.Random(number).randbytes(400_000))
        number += 1
        count("write_files", number)


def read_files():
    number = 0
    while running():
        drop_caches()
        digest = hashlib.sha256(read_file(f"{mnt}/constant")).hexdigest()
        equal(digest, constant, "the constant file during a restart")
        number += 1
        count("read_files", number)


def change_names():
    """A drained server answers what it has executed, so a repeated request never meets its own effect."""
    number = 0
    while running():
        os.mkdir(f"{mnt}/names/dir")
        write_file(f"{mnt}/names/dir/a", str(number).encode(), flags=os.O_EXCL)
        os.link(f"{mnt}/names/dir/a", f"{mnt}/names/dir/b")
        os.rename(f"{mnt}/names/dir/b", f"{mnt}/names/dir/c")
        os.symlink("a", f"{mnt}/names/dir/s")
        equal(sorted(os.listdir(f"{mnt}/names/dir")), ["a", "c", "s"], "names")
        for name in ("a", "c", "s"):
            os.unlink(f"{mnt}/names/dir/{name}")
        os.rmdir(f"{mnt}/names/dir")
        number += 1
        count("change_names", number)


lab = Lab()
# With NFSv4.0 each costs a lease.
RESTARTS = 3 if lab.version == "4.0" else 6
mnt = lab.ready(size_mib=1024)
for name in ("write", "names"):
    os.mkdir(f"{mnt}/{name}")
data = os.urandom(4 << 20)
constant = hashlib.sha256(data).hexdigest()
write_file(f"{mnt}/constant", data)
held = os.open(f"{mnt}/held", os.O_RDWR | os.O_CREAT)
workers = [write_files, read_files, change_names]
children = [start(worker) for worker in workers]
for restart in range(RESTARTS):
    before = [progress(worker.__name__) for worker in workers]
    while any(progress(worker.__name__) == seen for worker, seen in zip(workers, before)):
        if any(os.waitpid(child, os.WNOHANG) != (0, 0) for child in children):
            raise Failure("a worker ended early")
        time.sleep(0.05)
    # At any moment of what they do, which takes some milliseconds.
    time.sleep(random.uniform(0, 0.2))
    step(f"restart {restart + 1}")
    lab.stop()
    lab.start()
    os.write(held, b"x" * 1000)
with open(STOP, "wb"):
    pass
for child, worker in zip(children, workers):
    join(child, worker.__name__)

step("verify")
drop_caches()
files = progress("write_files")
for number in range(files):
    expect(read_file(f"{mnt}/write/{number}") == random.Random(number).randbytes(400_000), f"file {number} differs")
os.fsync(held)
equal(os.fstat(held).st_size, RESTARTS * 1000, "size of the file that was open all the time")
equal(os.listdir(f"{mnt}/names"), [], "names left")
equal(lab.host(f"sha256sum <{lab.path}/constant").split()[0], constant, "the constant file on the server")
