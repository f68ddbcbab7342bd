"""Handles: of a removed object they are stale, and stay so when its inode is used again; others survive restarts."""

import errno
import os

from harness.client import Lab, drop_caches, equal, expect, read_file, refused, step, write_file

RUNS = ("ext4", "xfs", "btrfs", "tmpfs", "ext4,4.2")

lab = Lab()
mnt = lab.ready(options="noac")

step("removed on the server while open here")
write_file(f"{mnt}/file", b"x" * 5000)
descriptor = os.open(f"{mnt}/file", os.O_RDWR)
os.read(descriptor, 10)
lab.host(f"rm {lab.path}/file")
# The server may hold the file open for a moment; at its next start it cannot.
lab.stop()
lab.start()
with refused(errno.ESTALE):
    os.fstat(descriptor)
with refused(errno.ESTALE):
    os.pwrite(descriptor, b"lost", 0)
    os.fsync(descriptor)
os.close(descriptor)

step("the inode is used again")
for round_ in range(20):
    write_file(f"{mnt}/old", b"old")
    descriptor = os.open(f"{mnt}/old", os.O_RDWR)
    number = os.fstat(descriptor).st_ino
    lab.host(f"rm {lab.path}/old && for n in $(seq 20); do echo new >{lab.path}/new-$n; done")
    try:
        os.pwrite(descriptor, b"WRONG", 0)
        os.fsync(descriptor)
    except OSError as error:
        equal(error.errno, errno.ESTALE, "error of a write to a removed file")
    try:
        os.close(descriptor)
    except OSError as error:
        equal(error.errno, errno.ESTALE, "error of close of a removed file")
    equal(set(lab.host(f"cat {lab.path}/new-*").split()), {"new"}, f"files made after inode {number} was freed")
    lab.host(f"rm {lab.path}/new-*")

step("a directory removed on the server")
os.mkdir(f"{mnt}/dir")
descriptor = os.open(f"{mnt}/dir", os.O_RDONLY)
lab.host(f"rmdir {lab.path}/dir")
lab.stop()
lab.start()
with refused(errno.ESTALE, errno.ENOENT):
    os.stat("name", dir_fd=descriptor)
os.close(descriptor)

step("handles survive a restart")
os.makedirs(f"{mnt}/deep/er")
descriptors = []
for number in range(100):
    write_file(f"{mnt}/deep/er/{number}", str(number).encode())
    descriptors.append(os.open(f"{mnt}/deep/er/{number}", os.O_RDWR))
for stop in (lab.stop, lab.kill):
    stop()
    # Renamed while no server runs: a handle names the file, not its path.
    lab.host(f"mv {lab.path}/deep {lab.path}/moved && mv {lab.path}/moved {lab.path}/deep && mkdir -p {lab.path}/else && "
             f"mv {lab.path}/deep/er/5 {lab.path}/else/ && mv {lab.path}/else/5 {lab.path}/deep/er/5")
    lab.start()
    drop_caches()
    for number, descriptor in enumerate(descriptors):
        equal(os.pread(descriptor, 10, 0), str(number).encode(), f"file {number} after a restart")
lab.stop()
lab.host(f"mv {lab.path}/deep/er {lab.path}/far")
lab.start()
drop_caches()
equal(os.pread(descriptors[7], 10, 0), b"7", "an open file whose directory was moved")
os.pwrite(descriptors[7], b"changed", 0)
os.fsync(descriptors[7])
equal(read_file(f"{mnt}/far/7"), b"changed", "what was written through the old handle")
for descriptor in descriptors:
    os.close(descriptor)
expect(not os.path.exists(f"{mnt}/deep/er"), "the old path is still there")
