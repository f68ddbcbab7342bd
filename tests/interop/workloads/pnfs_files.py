"""A cluster of a metadata server and four data servers: bytes go straight to the data servers, and everybody sees them."""

import ctypes
import hashlib
import mmap
import os
import subprocess

from harness.client import Lab, drop_caches, equal, expect, read_file, sha256, step, until, write_file
from harness.pnfs import SERVERS, UNIT, await_removal, in_band, pattern, serve, stored, write_and_read

RUNS = ("ext4,4.1", "ext4,4.2")
TAKES_S = 18

SIZE = 8 * 1024 * 1024
FALLOC_FL_KEEP_SIZE, FALLOC_FL_PUNCH_HOLE = 1, 2

libc = ctypes.CDLL(None, use_errno=True)
lab = Lab()
lab.export()
serve(lab)
mnt = lab.mount()

step("a file is written and read by its layout")
data = pattern(SIZE, "first")
write_and_read(mnt, "file", data)
for number in range(1, SERVERS + 1):
    equal(stored(lab, number), SIZE // SERVERS, f"what data server {number} has of it")
equal(os.stat(f"{mnt}/file").st_size, SIZE, "its size")

step("everybody sees it")
for version in ("3", "4.0"):
    other = lab.mount(at=f"/run/v{version}", version=version)
    equal(sha256(f"{other}/file"), hashlib.sha256(data).hexdigest(), f"the file by NFS {version}")
    equal(os.stat(f"{other}/file").st_size, SIZE, f"its size by NFS {version}")

step("and what they write")
more = pattern(300_001, "second")
with open("/run/v3/file", "r+b") as file:
    file.seek(1_000_003)
    file.write(more)
data = data[:1_000_003] + more + data[1_000_003 + len(more):]
drop_caches()
equal(sha256(f"{mnt}/file"), hashlib.sha256(data).hexdigest(), "what was written by NFS 3")
write_file("/run/v4.0/new", more)
equal(read_file(f"{mnt}/new"), more, "what was made by NFS 4.0")

step("appended, cut, grown")
with open(f"{mnt}/file", "ab") as file:
    file.write(more)
data += more
os.truncate(f"{mnt}/file", 5_000_000)
data = data[:5_000_000]
os.truncate(f"{mnt}/file", 6_000_000)
data += bytes(1_000_000)
drop_caches()
equal(sha256(f"{mnt}/file"), hashlib.sha256(data).hexdigest(), "a file that was cut and grown")
equal(sha256("/run/v3/file"), hashlib.sha256(data).hexdigest(), "the same by NFS 3")
os.truncate("/run/v4.0/file", 100)
drop_caches()
equal(read_file(f"{mnt}/file"), data[:100], "a file that another client has cut")

step("a hole and the end of a file, past the page cache")
with open(f"{mnt}/sparse", "wb") as file:
    file.seek(3 * UNIT + 17)
    file.write(b"end")
descriptor = os.open(f"{mnt}/sparse", os.O_RDONLY | os.O_DIRECT)
with mmap.mmap(-1, 8 * UNIT) as memory:
    total = 0
    while (got := os.preadv(descriptor, [memoryview(memory)[total:]], total)) > 0:
        total += got
    equal(total, 3 * UNIT + 20, "bytes read with O_DIRECT")
    equal(memory[:total], bytes(3 * UNIT + 17) + b"end", "what they are")
os.close(descriptor)



def fallocate(file, mode, offset, length):
    if libc.fallocate(file.fileno(), mode, ctypes.c_long(offset), ctypes.c_long(length)) != 0:
        raise OSError(ctypes.get_errno(), "fallocate")


def holes():
    """fallocate, holes and copies: NFSv4.2 alone has operations for these."""
    wanted = bytearray(pattern(6 * UNIT, "third")) + bytes(2 * UNIT)
    with open(f"{mnt}/holes", "wb+", buffering=0) as file:
        file.write(wanted[:6 * UNIT])
        fallocate(file, 0, 6 * UNIT, 2 * UNIT)
        equal(os.fstat(file.fileno()).st_size, 8 * UNIT, "the size after fallocate")
        fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, UNIT + 4096, 2 * UNIT)
        wanted[UNIT + 4096:3 * UNIT + 4096] = bytes(2 * UNIT)
        equal(os.lseek(file.fileno(), 0, os.SEEK_HOLE), UNIT + 4096, "where the hole begins")
        equal(os.lseek(file.fileno(), UNIT + 4096, os.SEEK_DATA), 3 * UNIT + 4096, "where it ends")
        equal(os.lseek(file.fileno(), 4 * UNIT, os.SEEK_HOLE), 6 * UNIT, "where the data ends")
    drop_caches()
    equal(read_file(f"{mnt}/holes"), bytes(wanted), "a file with a hole")
    equal(read_file("/run/v3/holes"), bytes(wanted), "the same by NFS 3")
    with open(f"{mnt}/holes", "rb") as source, open(f"{mnt}/ranged", "wb") as target:
        copied = 0
        while (got := os.copy_file_range(source.fileno(), target.fileno(), len(wanted) - copied)) > 0:
            copied += got
    subprocess.run(["cp", "--sparse=always", f"{mnt}/holes", f"{mnt}/copied"], check=True)
    drop_caches()
    for name in ("ranged", "copied"):
        equal(read_file(f"{mnt}/{name}"), bytes(wanted), f"the copy {name}")
    expect(os.stat(f"{mnt}/copied").st_blocks * 512 < 5 * UNIT, "the copy has its holes")
    os.mkdir(f"{mnt}/narrow")
    os.setxattr(f"{mnt}/narrow", "user.braid.stripe", b"width=1")
    before = [stored(lab, number) for number in range(1, SERVERS + 1)]
    write_file(f"{mnt}/narrow/file", bytes(wanted))
    after = [stored(lab, number) for number in range(1, SERVERS + 1)]
    equal(sum(one != other for one, other in zip(before, after)), 1, "servers that a file of a narrow directory is on")
    for name in ("holes", "ranged", "copied", "narrow/file"):
        os.unlink(f"{mnt}/{name}")


if lab.version == "4.2":
    step("holes, room and copies")
    holes()

step("nothing is left of a file that is removed")
for name in ("file", "new", "sparse"):
    os.unlink(f"{mnt}/{name}")
await_removal(lab)

step("after a restart of the metadata server it is all there")
write_file(f"{mnt}/kept", data)
lab.kill()
lab.start()
drop_caches()
equal(sha256(f"{mnt}/kept"), hashlib.sha256(data).hexdigest(), "a file from before the restart")
write_file(f"{mnt}/after", more)
drop_caches()
equal(read_file(f"{mnt}/after"), more, "a file from after it")


def overwritten(name, content):
    """The file with other content: WRITEs that the metadata server got meanwhile. Without O_CREAT Linux cuts it after it
    has its layout."""
    before = in_band("WRITE")
    descriptor = os.open(f"{mnt}/{name}", os.O_WRONLY | os.O_TRUNC)
    with open(descriptor, "wb") as file:
        file.write(content)
    return in_band("WRITE") - before


step("who overwrites a file goes on with its layout, though others may have had one before the restart")
until(lambda: overwritten("after", more) == 0, "layouts to be granted after the grace period")
equal(overwritten("kept", more), 0, "WRITEs at the metadata server")
drop_caches()
for name in ("kept", "after"):
    equal(read_file(f"{mnt}/{name}"), more, f"what {name} was overwritten with")
