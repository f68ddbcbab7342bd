"""Disks missing, exchanged, formatted, mounted elsewhere or under something: ESTALE or unavailable, never another file."""

import errno
import os

from harness.client import Lab, drop_caches, equal, expect, join, metric, read_file, refused, start, step, write_file

RUNS = ("ext4", "btrfs", "ext4,4.0", "ext4,4.2")
TAKES_S = 50
TIMEOUT_S = 300
# Of 4.0 clients a server does not know that they have reclaimed all they had: each start waits for its lease.
LIMITS = "lease_seconds = 10"

lab = Lab()
lab.export()
other = f"{lab.path}.other"


def unavailable():
    return metric("braid_exports_unavailable")


def await_unavailable(wanted):
    """The server looks every second."""
    while unavailable() != wanted:
        lab.host("sleep 0.2")


def reads(path, wanted):
    drop_caches()
    equal(read_file(path), wanted, f"what {path} holds")


def in_its_place(hide, bring_back, what):
    """While something else is at the path nobody reads it, and afterwards the open file is what it was."""
    lab.host(hide)
    await_unavailable(1)
    drop_caches()
    reader = start(reads, f"{mnt}/file", b"the first disk")
    lab.host("sleep 2")
    equal(os.waitpid(reader, os.WNOHANG)[0], 0, f"whether a reader goes on while {what}")
    expect(f"is unavailable: {lab.path}" in lab.host(f"/proc/{lab.server_pid()}/exe status"), "braid status says nothing")
    lab.host(bring_back)
    await_unavailable(0)
    join(reader)
    drop_caches()
    equal(os.pread(held, 100, 0), b"the first disk", f"the open file after {what}")


lab.serve(config=lab.config(limits=LIMITS))
mnt = lab.mount()
write_file(f"{mnt}/file", b"the first disk")
held = os.open(f"{mnt}/file", os.O_RDONLY)
# Another disk of the same kind whose files have the same inode numbers.
lab.host(f"mkdir {other} && truncate -s $(stat -c %s {lab.path}.img) {other}.img && mkfs.{lab.variant} -q {other}.img && "
         f"mount -o loop {other}.img {other} && echo another >{other}/file && umount {other}")
again = f"mount -o loop {lab.path}.img {lab.path}"

step("something is mounted over it while it is served")
in_its_place(f"mount -t tmpfs none {lab.path} && echo above >{lab.path}/file", f"umount {lab.path}", "it was hidden")

step("unmounted while it is served, and mounted again")
in_its_place(f"umount {lab.path} && echo beneath >{lab.path}/file", again, "it was not mounted")

step("the server starts without the disk")
lab.stop()
lab.host(f"umount {lab.path} && mkdir -p {lab.path}/etc && echo beneath >{lab.path}/etc/passwd")
lab.start()
in_its_place("true", again, "the server started without it")
expect(not os.path.exists(f"{mnt}/etc"), "the directory below the mount point is seen")

step("the server starts with another disk")
lab.stop()
lab.host(f"umount {lab.path} && mount -o loop {other}.img {lab.path}")
lab.start()
in_its_place("true", f"umount {lab.path} && {again}", "another disk was there")

step("mounted elsewhere")
lab.stop()
lab.host(f"umount {lab.path} && mount -o loop {lab.path}.img {other}")
lab.serve(config=lab.config(limits=LIMITS).replace(f'"{lab.path}"', f'"{other}"'))
reads(f"{mnt}/file", b"the first disk")
equal(os.pread(held, 100, 0), b"the first disk", "the open file")
lab.stop()
lab.host(f"umount {other} && {again} && mount --bind {lab.path} {other}")
lab.start()
reads(f"{mnt}/file", b"the first disk")
lab.stop()
lab.host(f"umount {other}")
lab.serve(config=lab.config(limits=LIMITS))
reads(f"{mnt}/file", b"the first disk")

step("another disk that is meant")
lab.stop()
lab.host(f"umount {lab.path} && mount -o loop {other}.img {lab.path}")
lab.start()
equal(unavailable(), 1, "exports that are unavailable")
lab.host(f"/proc/{lab.server_pid()}/exe export accept /")
equal(unavailable(), 0, "exports that are unavailable")
drop_caches()
with refused(errno.ESTALE, errno.EIO, errno.EBADF):
    os.pread(held, 100, 0)
with refused(errno.ESTALE):
    read_file(f"{mnt}/file")
try:
    os.close(held)
except OSError as error:
    expect(error.errno in (errno.ESTALE, errno.EIO), f"error {error.errno} of close")
reads(f"{lab.mount(at='/run/second')}/file", b"another\n")
