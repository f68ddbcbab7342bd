"""Sizes and times: truncate, extend with zeros, O_TRUNC, O_APPEND, times with nanoseconds, what changes ctime and mtime."""

import errno
import os
import time

from harness.client import Lab, drop_caches, equal, expect, read_file, refused, step, write_file

RUNS = ("ext4", "tmpfs,4.0", "xfs,4.2")

DATA = bytes(range(1, 251)) * 200

lab = Lab()
mnt = lab.ready()
path = f"{mnt}/file"

step("shrink and grow")
for size in (0, 1, 4095, 4096, 4097, 49_999, 50_000):
    write_file(path, DATA)
    os.truncate(path, size)
    equal(int(lab.host(f"stat -c %s {lab.path}/file")), size, "size on the server")
    os.truncate(path, size + 5000)
    drop_caches()
    expect(read_file(path) == DATA[:size] + bytes(5000), f"data after truncation to {size} and growth")

step("shrink with dirty pages")
descriptor = os.open(path, os.O_RDWR | os.O_TRUNC)
for round_ in range(20):
    os.pwrite(descriptor, DATA, 0)
    os.ftruncate(descriptor, 1000 + round_)
    os.pwrite(descriptor, b"!", 60_000)
    equal(os.fstat(descriptor).st_size, 60_001, "size")
    expect(os.pread(descriptor, 60_001, 0) == DATA[:1000 + round_] + bytes(59_000 - round_) + b"!", "data")
os.close(descriptor)
drop_caches()
expect(read_file(path) == DATA[:1019] + bytes(60_000 - 1019) + b"!", "data after all")

step("append")
write_file(path, b"")
first = os.open(path, os.O_WRONLY | os.O_APPEND)
second = os.open(path, os.O_WRONLY | os.O_APPEND)
for number in range(50):
    os.write(first if number % 2 else second, f"{number:04}\n".encode())
os.close(first)
os.close(second)
equal(lab.host(f"cat {lab.path}/file").split(), [f"{number:04}" for number in range(50)], "lines appended")

step("refused")
descriptor = os.open(path, os.O_RDONLY)
with refused(errno.EINVAL, errno.EBADF):
    os.ftruncate(descriptor, 0)
os.close(descriptor)
with refused(errno.EISDIR):
    os.truncate(mnt, 0)
with refused(errno.EISDIR):
    os.open(mnt, os.O_WRONLY)

step("times")
os.utime(path, ns=(123_456_789_987_654_321, 987_654_321_123_456_789))
found = os.stat(path)
equal((found.st_atime_ns, found.st_mtime_ns), (123_456_789_987_654_321, 987_654_321_123_456_789), "times set")
equal(lab.host(f"stat -c %.9Y {lab.path}/file").strip(), "987654321.123456789", "mtime on the server")
os.utime(path)
now = float(lab.host("date +%s.%N"))
expect(abs(os.stat(path).st_mtime - now) < 3600, "mtime set to the server's now")


def times():
    """mtime and ctime as the server has them."""
    return [float(value) for value in lab.host(f"stat -c '%.9Y %.9Z' {lab.path}/file").split()]


def changes(what, action, wanted):
    """Checks which of (mtime, ctime) the action moves on."""
    os.utime(path, ns=(10**18, 10**18))
    before = times()
    time.sleep(0.03)
    action()
    after = times()
    equal((after[0] != before[0], after[1] > before[1]), wanted, f"{what} changes (mtime, ctime)")


changes("write", lambda: write_file(path, b"x"), (True, True))
changes("truncate to another size", lambda: os.truncate(path, 5), (True, True))
changes("chmod", lambda: os.chmod(path, 0o600), (False, True))
changes("chown", lambda: os.chown(path, 5, 5), (False, True))
changes("link", lambda: os.link(path, path + "2"), (False, True))
changes("unlink of another name", lambda: os.unlink(path + "2"), (False, True))
changes("read", lambda: read_file(path), (False, False))
