"""A full file system: ENOSPC reaches the program, what was written before stays, and room that is freed is usable."""

import errno
import os

from harness.client import Lab, drop_caches, equal, expect, read_file, refused, step, write_file

RUNS = ("ext4", "tmpfs", "xfs", "ext4,4.2")
TIMEOUT_S = 240

BLOCK = os.urandom(1 << 18)


def fill(path):
    """Writes until the server refuses; returns how much was flushed successfully before."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT)
    flushed = 0
    try:
        while True:
            os.write(descriptor, BLOCK)
            os.fsync(descriptor)
            flushed += len(BLOCK)
    finally:
        # The error was reported by the call above; close() must not add another.
        os.close(descriptor)
        expect(flushed > 0, "not one block fits")
        sizes.append(flushed)


lab = Lab()
sizes = []
mnt = lab.ready(size_mib=16)

step("fill")
write_file(f"{mnt}/before", BLOCK)
late = os.open(f"{mnt}/late", os.O_WRONLY | os.O_CREAT)
with refused(errno.ENOSPC):
    fill(f"{mnt}/big")
left = os.statvfs(mnt)
expect(left.f_bavail <= max(2, left.f_blocks // 20), f"statfs says that there is room: {left}")
drop_caches()
expect(read_file(f"{mnt}/before") == BLOCK, "a file from before differs")
data = read_file(f"{mnt}/big")
for offset in range(0, sizes[0], len(BLOCK)):
    expect(data[offset:offset + len(BLOCK)] == BLOCK, f"flushed data at {offset} differs")

step("an unflushed write reports at close or fsync")
with refused(errno.ENOSPC):
    for _ in range(8):
        os.write(late, BLOCK)
    os.fsync(late)
os.close(late)

step("overwriting needs no room")
descriptor = os.open(f"{mnt}/before", os.O_WRONLY)
os.write(descriptor, b"changed")
os.fsync(descriptor)
os.close(descriptor)
equal(lab.host(f"head -c 7 {lab.path}/before"), "changed", "an overwritten block")

step("freed room is usable")
os.unlink(f"{mnt}/big")
os.unlink(f"{mnt}/late")
os.sync()
write_file(f"{mnt}/after", BLOCK * 4)
drop_caches()
expect(read_file(f"{mnt}/after") == BLOCK * 4, "a file written after room was freed differs")

if lab.variant == "ext4":
    step("no inodes left")
    lab.unmount()
    lab.stop()
    lab.export(size_mib=16, name="inodes", mkfs=("-N", "32"))
    lab.serve()
    lab.mount()
    os.mkdir(f"{mnt}/dir")
    with refused(errno.ENOSPC):
        for number in range(64):
            write_file(f"{mnt}/dir/{number}", b"")
    made = len(os.listdir(f"{mnt}/dir"))
    for create in (os.mkdir, lambda path: os.symlink("x", path), os.mkfifo):
        with refused(errno.ENOSPC):
            create(f"{mnt}/dir/refused")
    equal(len(os.listdir(f"{mnt}/dir")), made, "entries after refused creations")
    os.unlink(f"{mnt}/dir/0")
    os.mkdir(f"{mnt}/dir/again")
