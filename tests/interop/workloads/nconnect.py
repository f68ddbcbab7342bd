"""nconnect=4: one client over four connections, data in parallel, locks, and kill -9 of the server in the middle."""

import fcntl
import os

from harness.client import Lab, drop_caches, expect, join, read_file, start, step, write_file
from harness.constants import PORT

RUNS = ("ext4",)
VERSIONS = ("4.2", "4.1", "3")
TAKES_S = 30

WRITERS = 4
BLOCK = os.urandom(1 << 16)
BLOCKS = 48
STOP = "/run/tmp/stop"


def data_of(writer):
    return b"".join(bytes((writer, number)) + BLOCK[2:] for number in range(BLOCKS))


def write_again_and_again(writer):
    data, last = data_of(writer), False
    while not last:
        last = os.path.exists(STOP)
        write_file(f"{mnt}/{writer}", data, flags=os.O_SYNC)


def connections():
    return int(lab.host(f"ss -Htn state established 'sport = :{PORT}' | wc -l"))


lab = Lab()
lab.export(size_mib=256)
lab.serve()
for version in ("4.2", "4.1", "3"):
    step(f"NFSv{version}")
    mnt = lab.mount(version=version, options="nconnect=4")
    held = os.open(f"{mnt}/held", os.O_RDWR | os.O_CREAT)
    if version != "3":
        fcntl.lockf(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    children = [start(write_again_and_again, writer) for writer in range(WRITERS)]
    lab.host(f"cd {lab.path}; until [ -s 0 ] && [ -s 1 ] && [ -s 2 ] && [ -s 3 ]; do sleep 0.01; done")
    lab.kill()
    lab.start()
    write_file(STOP, b"")
    for child in children:
        join(child, "a writer")
    os.unlink(STOP)
    drop_caches()
    for writer in range(WRITERS):
        expect(read_file(f"{mnt}/{writer}") == data_of(writer), f"file {writer} differs")
    expect(connections() >= 4, f"{connections()} connections")
    os.write(held, b"held")
    os.fsync(held)
    os.close(held)
    for name in (*map(str, range(WRITERS)), "held"):
        os.unlink(f"{mnt}/{name}")
    lab.unmount()
