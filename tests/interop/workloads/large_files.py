"""Sparse files beyond 2 and 4 GiB and near the largest size: offsets, holes, sizes, truncation, refusal beyond."""

import errno
import os

from harness.client import Lab, drop_caches, equal, expect, refused, step

RUNS = ("ext4", "xfs", "ext4,4.2")

GIB = 1 << 30
BLOCK = bytes(range(256)) * 300
OFFSETS = (0, 2 * GIB - 1, 2 * GIB, 4 * GIB - 5, 4 * GIB, 5 * GIB + 12_345, 1024 * GIB + 1)

lab = Lab()
mnt = lab.ready(size_mib=512)
path = f"{mnt}/sparse"

step("write at large offsets")
descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
for offset in OFFSETS:
    equal(os.pwrite(descriptor, BLOCK, offset), len(BLOCK), f"bytes written at {offset}")
os.fsync(descriptor)
size = OFFSETS[-1] + len(BLOCK)
equal(os.fstat(descriptor).st_size, size, "size")
equal(int(lab.host(f"stat -c %s {lab.path}/sparse")), size, "size on the server")
expect(os.fstat(descriptor).st_blocks * 512 < 64 << 20, "holes take room")

step("read back")
drop_caches()
for offset in OFFSETS:
    # The block at 2 GiB - 1 is overwritten from its second byte on, and so is the one below 4 GiB.
    own = min([other - offset for other in OFFSETS if other > offset] + [len(BLOCK)])
    expect(os.pread(descriptor, own, offset) == BLOCK[:own], f"data at {offset} differs")
for offset in (GIB, 3 * GIB - 100, 4 * GIB + len(BLOCK) + 5, 900 * GIB):
    expect(os.pread(descriptor, 70_000, offset) == bytes(70_000), f"the hole at {offset} is not zero")
equal(os.pread(descriptor, 100, size - 40), BLOCK[-40:], "a read across the end")
equal(os.pread(descriptor, 100, size + 5), b"", "a read behind the end")
for offset in OFFSETS[4:]:
    line = lab.host(f"dd if={lab.path}/sparse bs=1 skip={offset} count=256 status=none | od -An -v -tx1")
    equal(bytes.fromhex("".join(line.split())), BLOCK[:256], f"data at {offset} on the server")

step("truncate")
os.ftruncate(descriptor, 6 * GIB)
equal(int(lab.host(f"stat -c %s {lab.path}/sparse")), 6 * GIB, "size on the server after truncation")
os.ftruncate(descriptor, 4 * GIB + 1)
os.ftruncate(descriptor, 7 * GIB)
drop_caches()
equal(os.pread(descriptor, 3, 4 * GIB), BLOCK[:1] + b"\0\0", "data at the point of truncation")
with open(path, "ab") as file:
    file.write(b"appended")
equal(os.stat(path).st_size, 7 * GIB + 8, "size after an append")

step("beyond what the file system can hold")
with refused(errno.EFBIG, errno.EINVAL):
    os.pwrite(descriptor, b"x", (1 << 63) - 1)
if lab.variant == "ext4":
    # 16 TiB is more than ext4 holds with 4 KiB blocks.
    with refused(errno.EFBIG):
        os.pwrite(descriptor, b"x", 16 * 1024 * GIB)
        os.fsync(descriptor)
    with refused(errno.EFBIG):
        os.ftruncate(descriptor, 17 * 1024 * GIB)
os.close(descriptor)
equal(os.stat(path).st_size, 7 * GIB + 8, "size after refused writes")
os.unlink(path)
