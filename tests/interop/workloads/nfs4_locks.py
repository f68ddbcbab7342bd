"""NFSv4: locks exclude each other between clients of different minor versions and local processes of the server."""

import errno
import fcntl
import os
import signal

from harness.client import Lab, equal, join, metric, refused, start, step, until, write_file
from harness.mountstats import operations_sent

RUNS = ("ext4",)
VERSIONS = ("4.2", "4.1", "4.0")
TAKES_S = 20

LOCAL_TRY = ("import fcntl, sys; file = open(sys.argv[1], 'r+b')\n"
             "try:\n    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 5, 0)\n"
             "except OSError:\n    print('refused')\nelse:\n    print('granted')\n")

# Has the lock while there is no file FILE.go; what it writes then comes before what others do with the lock.
LOCAL_HOLDER = ("import fcntl, os, sys, time; path = sys.argv[1]; file = open(path, 'r+b', buffering=0)\n"
                "fcntl.lockf(file, fcntl.LOCK_EX); open(path + '.held', 'w').close()\n"
                "while not os.path.exists(path + '.go'): time.sleep(0.01)\n"
                "file.write(b'local')\n")

# Waits for the lock, and leaves a copy of what it finds then.
LOCAL_WAITER = ("import fcntl, os, sys; path = sys.argv[1]; file = open(path, 'r+b')\n"
                "open(path + '.started', 'w').close(); fcntl.lockf(file, fcntl.LOCK_EX)\n"
                "open(path + '.new', 'wb').write(file.read()); os.rename(path + '.new', path + '.found')\n")


def local_try(name):
    """Whether a process on the server gets the first five bytes."""
    return lab.host(f'/usr/bin/python3 -c "{LOCAL_TRY}" {lab.path}/{name}').strip()


def local_start(program, name, sign):
    """Starts the program in the background on the server; returns when it has made the file `sign`."""
    lab.host(f'/usr/bin/python3 -c "{program}" {lab.path}/{name} >/dev/null 2>&1 & '
             f"until [ -e {lab.path}/{sign} ]; do sleep 0.01; done")


def take(file, *where):
    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, *where)


def taken(file):
    try:
        take(file)
    except (BlockingIOError, PermissionError):
        return False
    return True


def share(file, *where):
    fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB, *where)


def release(file, *where):
    fcntl.lockf(file, fcntl.LOCK_UN, *where)


def excluded():
    return refused(errno.EAGAIN, errno.EACCES)


def ranges(first, second, name):
    take(first, 5, 0)
    with excluded():
        share(second, 5, 0)
    with excluded():
        take(second, 1, 4)
    equal(local_try(name), "refused", "a local lock of a locked range")
    take(second, 5, 5)
    with excluded():
        take(first, 10, 0)
    release(first, 5, 0)
    equal(local_try(name), "granted", "a local lock of an unlocked range")
    take(second, 5, 0)
    release(second)

    # A hole in the middle, and what is behind the end of the file.
    take(first, 0, 0)
    release(first, 20, 40)
    take(second, 20, 40)
    for where in ((1, 39), (1, 60), (0, 1 << 40)):
        with excluded():
            share(second, *where)
    release(second)
    share(first, 10, 0)
    share(second, 10, 0)
    with excluded():
        take(second, 10, 0)
    release(first)
    take(second, 10, 0)
    release(second)


def whole_files(first, second):
    """flock() of a Linux client is a lock of all bytes for the others."""
    fcntl.flock(first, fcntl.LOCK_EX | fcntl.LOCK_NB)
    for lock in (fcntl.flock, fcntl.lockf):
        with excluded():
            lock(second, fcntl.LOCK_SH | fcntl.LOCK_NB)
    fcntl.flock(first, fcntl.LOCK_SH | fcntl.LOCK_NB)
    fcntl.flock(second, fcntl.LOCK_SH | fcntl.LOCK_NB)
    with excluded():
        fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)
    fcntl.flock(second, fcntl.LOCK_UN)
    fcntl.flock(first, fcntl.LOCK_UN)
    take(first, 1, 7)
    with excluded():
        fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)
    release(first)
    fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)
    fcntl.flock(second, fcntl.LOCK_UN)


def wait_and_look(path, wanted):
    with open(path, "r+b", buffering=0) as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        equal(file.read(), wanted, "what is found under the lock")


def waiting(mount, name, wanted):
    """A process that waits for the lock on that mount, and must find this then; it has asked once already."""
    before = operations_sent(mount, "LOCK")
    child = start(wait_and_look, f"{mount}/{name}", wanted)
    until(lambda: operations_sent(mount, "LOCK") > before, "the first LOCK of the process that waits")
    return child


def hold(path, ready):
    with open(path, "r+b", buffering=0) as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        os.write(ready, b"x")
        signal.pause()


def killed_holder(path, second):
    ready, done = os.pipe()
    child = start(hold, path, done)
    os.close(done)
    equal(os.read(ready, 1), b"x", "the word of the process that holds the lock")
    os.close(ready)
    with excluded():
        take(second)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    # The kernel does not wait for the server's answer when a process is killed.
    until(lambda: taken(second), "the lock of the killed process")
    release(second)


def check(version, another):
    name = f"file{version}"
    one, two = lab.mount(version=version, at="/run/one"), lab.mount(version=another, at="/run/two")
    write_file(f"{one}/{name}", b"0123456789")
    with open(f"{one}/{name}", "r+b", buffering=0) as first, open(f"{two}/{name}", "r+b", buffering=0) as second:
        step("byte ranges")
        ranges(first, second, name)
        step("flock")
        whole_files(first, second)
        step("a killed process")
        killed_holder(f"{one}/{name}", second)
        step("waiting for another client")
        take(second)
        child = waiting(one, name, b"other 6789")
        os.pwrite(second.fileno(), b"other ", 0)
        release(second)
        join(child, "the process that waited")
        step("a local process waits")
        take(first)
        local_start(LOCAL_WAITER, name, f"{name}.started")
        os.pwrite(first.fileno(), b"client", 0)
        release(first)
        until(lambda: f"{name}.found" in os.listdir(two), "what the local process leaves")
        equal(lab.host(f"cat {lab.path}/{name}.found"), "client6789", "what the local process found")
    # Clients of later versions wait for the server's call, which looks for the end of local locks.
    step("waiting for a local process")
    local_start(LOCAL_HOLDER, name, f"{name}.held")
    before = metric("braid_nfs4_lock_turns_total")
    child = waiting(one, name, b"localt6789")
    lab.host(f"touch {lab.path}/{name}.go")
    join(child, "the process that waited")
    if version != "4.0":
        equal(metric("braid_nfs4_lock_turns_total"), before + 1, "how many were told that the local lock is gone")
    step("closing a file releases its locks")
    with open(f"{one}/{name}", "r+b") as first:
        take(first)
    equal(local_try(name), "granted", "a local lock of a closed file")
    lab.unmount(one)
    lab.unmount(two)


lab = Lab()
lab.export()
lab.serve(config=lab.config())
for minor, other in (("4.2", "4.0"), ("4.1", "4.2"), ("4.0", "4.1")):
    step(f"NFSv{minor} and {other}")
    check(minor, other)
