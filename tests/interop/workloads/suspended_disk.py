"""A disk that an administrator takes out and puts back: clients wait and go on, and nothing keeps it in use meanwhile."""

import os

from faults.control import EVERY, HANGS
from harness.client import Lab, drop_caches, equal, expect, join, read_file, start, step, until, write_file

RUNS = ("ext4", "ext4,4.2")
TAKES_S = 25

FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
UNSYNCED = bytes(range(256)) * 16384

lab = Lab()
lab.export()
lab.serve(config=lab.config(server='delegations = "none"', limits="lease_seconds = 10"), faults=True)
mnt = lab.mount()
write_file(f"{mnt}/file", b"before")


def braid(command):
    return lab.host(f"/proc/{lab.server_pid()}/exe {command}")


def reads(wanted):
    drop_caches()
    equal(read_file(f"{mnt}/file"), wanted, "the file")


step("suspended, unmounted, changed elsewhere, and back")
read_file(f"{mnt}/file")
unsynced = None
if lab.version == "3":
    # More than one WRITE, which are UNSTABLE then; the client sends its COMMIT when it closes the file, and the
    # server closes it before. NFSv4 would have it open.
    unsynced = os.open(f"{mnt}/unsynced", os.O_RDWR | os.O_CREAT)
    os.write(unsynced, UNSYNCED)
    os.posix_fadvise(unsynced, 0, 0, os.POSIX_FADV_DONTNEED)
    until(lambda: lab.host(f"stat -c %s {lab.path}/unsynced").strip() == str(len(UNSYNCED)), "nothing was written")
    lab.host("sleep 4")
# The client closes files when it gets to it, and cannot once the export is suspended.
until(lambda: "No opens" in braid("opens"), "a file is still open")
if unsynced is not None:
    step("a disk that hangs is told of, and not waited for")
    # Linux might send a COMMIT at any moment.
    write_without_commit = ("from faults import nfs3; from harness.constants import ADDRESS, PORT; client = nfs3.Client(ADDRESS, PORT); "
                            "file = client.create(client.root, 'uncommitted')[1]; client.write(file, 0, bytes(65536), nfs3.UNSTABLE)")
    lab.host(f"cd / && PYTHONPATH={FOLDER} python3 -B -c \"{write_without_commit}\" && sleep 4")
    lab.arm("fsync", HANGS, EVERY)
    said = braid("export suspend /")
    expect("is suspended" in said and "they are being synced" in said, f"it says {said}")
    lab.clear()
    step("it goes on")
said = braid("export suspend /")
expect("is suspended" in said and "But" not in said, f"it says {said}")
expect("it is suspended; to serve it again" in braid("status"), "braid status does not say so")
lab.host(f"umount {lab.path}")
# The loop device goes with the last user of the file system.
lab.host(f"for i in $(seq 100); do [ -z \"$(losetup -j {lab.path}.img)\" ] && exit 0; sleep 0.1; done; exit 1")
lab.host(f"e2fsck -fn {lab.path}.img")
drop_caches()
reader = start(reads, b"after!")
lab.host("sleep 2")
equal(os.waitpid(reader, os.WNOHANG)[0], 0, "whether a reader goes on without the disk")
lab.host(f"mount -o loop {lab.path}.img {lab.path} && printf after! >{lab.path}/file")
braid("export resume /")
join(reader)
if unsynced is not None:
    os.close(unsynced)
    drop_caches()
    expect(read_file(f"{mnt}/unsynced") == UNSYNCED, "bytes that were not synced are lost")

step("a file that is open keeps it in use, and is named")
if lab.version != "3":
    held = os.open(f"{mnt}/file", os.O_RDWR)
    os.pwrite(held, b"open", 0)
    expect("in use by what clients have open" in braid("export suspend /"), "the open file is not told of")
    expect(":/file" in braid("opens --file /file"), "the open file is not named")
    braid("export resume /")
    os.pwrite(held, b"more", 0)
    os.fsync(held)
    os.close(held)
    reads(b"morer!")
