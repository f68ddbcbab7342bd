"""A quota that is used up: EDQUOT reaches the program and nothing that was written before is harmed."""

import errno
import os

from harness.client import Lab, drop_caches, equal, expect, read_file, refused, step, write_file

RUNS = ("btrfs", "btrfs,4.2")

BLOCK = os.urandom(1 << 20)
LIMIT_MIB = 16

lab = Lab()
mnt = lab.ready(size_mib=256)
lab.host(f"btrfs quota enable {lab.path} && btrfs qgroup limit {LIMIT_MIB}M 0/5 {lab.path}")
write_file(f"{mnt}/before", BLOCK)

step("write beyond the limit")
descriptor = os.open(f"{mnt}/big", os.O_WRONLY | os.O_CREAT)
flushed = 0
with refused(errno.EDQUOT):
    while flushed <= LIMIT_MIB:
        os.write(descriptor, BLOCK)
        os.fsync(descriptor)
        flushed += 1
os.close(descriptor)
expect(flushed > LIMIT_MIB // 2, f"refused after {flushed} MiB of {LIMIT_MIB}")
drop_caches()
expect(read_file(f"{mnt}/before") == BLOCK, "a file from before differs")
data = read_file(f"{mnt}/big")
for offset in range(0, flushed << 20, 1 << 20):
    expect(data[offset:offset + len(BLOCK)] == BLOCK, f"flushed data at {offset} differs")

step("create beyond the limit")
with refused(errno.EDQUOT):
    for number in range(2000):
        write_file(f"{mnt}/small-{number}", b"x" * 20_000)

step("a higher limit helps")
lab.host(f"btrfs qgroup limit none 0/5 {lab.path}")
write_file(f"{mnt}/after", BLOCK * 4)
drop_caches()
equal(os.stat(f"{mnt}/after").st_size, 4 << 20, "size of a file written after the limit was lifted")
